//! One call of the `aws` tool, as data: it can be run, or printed for review.

/// Shell variables in a printed call, for what only an earlier call can tell.
pub(in crate::commands::aws) const DELIVERIES_VARIABLE: &str = "$DELIVERIES_TABLE";
pub(in crate::commands::aws) const STREAM_VARIABLE: &str = "$DELIVERIES_STREAM";
pub(in crate::commands::aws) const CONFIGS_VARIABLE: &str = "$CONFIGS_TABLE";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::commands::aws) struct AwsCall {
    service: &'static str,
    operation: &'static str,
    arguments: Vec<String>,
}

impl AwsCall {
    pub(in crate::commands::aws) fn new(service: &'static str, operation: &'static str) -> Self {
        Self {
            service,
            operation,
            arguments: Vec::new(),
        }
    }

    pub(in crate::commands::aws) fn option(self, name: &str, value: impl Into<String>) -> Self {
        self.value(name).value(value)
    }

    /// An option without a value, a value without an option, or another value of the option before it.
    pub(in crate::commands::aws) fn value(mut self, value: impl Into<String>) -> Self {
        self.arguments.push(value.into());
        self
    }

    pub(in crate::commands::aws) fn values(
        self,
        values: impl IntoIterator<Item = impl Into<String>>,
    ) -> Self {
        values.into_iter().fold(self, Self::value)
    }

    pub(super) fn words(&self) -> impl Iterator<Item = String> + '_ {
        let name = [self.service.to_owned(), self.operation.to_owned()];
        name.into_iter().chain(self.arguments.iter().cloned())
    }

    /// `dynamodb describe-table`.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.service, self.operation)
    }

    /// The IAM action that the call needs, such as `dynamodb:DescribeTable`.
    pub(super) fn permission(&self) -> String {
        let service = match self.service {
            "sesv2" => "ses",
            "service-quotas" => "servicequotas",
            "s3api" => "s3",
            service => service,
        };
        let action = match (self.service, self.operation) {
            ("lambda", "invoke") => "InvokeFunction".to_owned(),
            ("s3api", "list-objects-v2") => "ListBucket".to_owned(),
            (_, operation) => pascal_case(operation),
        };
        format!("{service}:{action}")
    }
}

fn pascal_case(operation: &str) -> String {
    let capitalised = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    operation.split('-').map(capitalised).collect()
}

/// A word that a POSIX shell reads back unchanged, apart from the variables.
pub(super) fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    let variables = [DELIVERIES_VARIABLE, STREAM_VARIABLE, CONFIGS_VARIABLE];
    if variables.iter().any(|variable| word.ends_with(variable)) {
        format!("\"{word}\"")
    } else if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_names_the_permission_it_needs() {
        let needs = |service, operation| AwsCall::new(service, operation).permission();
        assert_eq!(
            needs("dynamodb", "describe-continuous-backups"),
            "dynamodb:DescribeContinuousBackups"
        );
        assert_eq!(needs("lambda", "invoke"), "lambda:InvokeFunction");
        assert_eq!(needs("s3api", "list-objects-v2"), "s3:ListBucket");
        assert_eq!(needs("s3api", "delete-object"), "s3:DeleteObject");
        assert_eq!(needs("sesv2", "get-account"), "ses:GetAccount");
        assert_eq!(
            needs("service-quotas", "list-service-quotas"),
            "servicequotas:ListServiceQuotas"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_printed_word_is_read_back_by_a_shell_as_it_was() {
        for word in ["plain-1.0", "it's", "a b", "", "$(rm -rf /)", "`x`;|&", "*"] {
            let line = format!("printf %s {}", quoted(word));
            let shell = std::process::Command::new("/bin/sh")
                .args(["-c", &line])
                .output();
            let read = shell.unwrap().stdout;
            assert_eq!(String::from_utf8(read).unwrap(), word);
        }
        let variable = format!("Value={STREAM_VARIABLE}");
        assert_eq!(quoted(&variable), format!("\"{variable}\""));
    }
}
