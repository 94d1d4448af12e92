//! The part of Jinja that a template may use.
//!
//! A parsed template is copied, statement by statement and expression by expression. What is not listed here is refused. Operators
//! and filters get their operands through `WEIGH`, `TEXT` or `NUMBER`, which charge the budget; the text of the template is written
//! like a value, so that the limit of the output counts it.

mod expression;

use minijinja::machinery::ast::{
    Const, EmitExpr, Expr, ForLoop, IfCond, List, Set, Spanned, Stmt, Template, Tuple, Var,
    WithBlock,
};
use minijinja::machinery::{Span, Token, parse as parse_jinja, tokenize};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::Value;

use super::output::Literal;
use super::render::Fault;
pub(super) use expression::{ADDEND, INDEX, NUMBER, TEXT, WEIGH};
use expression::{expression, weighed};

/// The name of a template in the engine.
pub(super) const NAME: &str = "template";
/// The engine's parser recurses for each of them.
const MAX_ELIFS: usize = 50;
/// The most tokens in one tag. The engine's compiler recurses for each operator.
const MAX_TOKENS_PER_TAG: usize = 200;

/// Parses a template and refuses what is not part of the language.
pub(super) fn parse(source: &str) -> Result<Stmt<'_>, Fault> {
    check_size(source)?;
    let parsed = parse_jinja(source, NAME, SyntaxConfig::default())?;
    statement(&parsed)
}

fn check_size(source: &str) -> Result<(), Fault> {
    let (mut elifs, mut tokens) = (0, 0);
    for token in tokenize(source, false, SyntaxConfig::default()) {
        let (token, span) = token?;
        let is_start = matches!(token, Token::VariableStart | Token::BlockStart);
        tokens = if is_start { 0 } else { tokens + 1 };
        elifs += usize::from(matches!(token, Token::Ident("elif")));
        if elifs > MAX_ELIFS {
            return Err(at(span, format!("more than {MAX_ELIFS} times `elif`")));
        }
        if tokens > MAX_TOKENS_PER_TAG {
            let limit = format!("more than {MAX_TOKENS_PER_TAG} tokens in one tag");
            return Err(at(span, limit));
        }
    }
    Ok(())
}

fn at(span: Span, reason: impl Into<String>) -> Fault {
    Fault {
        line: Some(usize::from(span.start_line)),
        reason: reason.into(),
    }
}

fn unavailable(span: Span, what: &str) -> Fault {
    at(span, format!("{what} not available in templates"))
}

fn statements<'a>(body: &[Stmt<'a>]) -> Result<Vec<Stmt<'a>>, Fault> {
    body.iter().map(statement).collect()
}

fn statement<'a>(stmt: &Stmt<'a>) -> Result<Stmt<'a>, Fault> {
    Ok(match stmt {
        Stmt::Template(it) => {
            let children = statements(&it.children)?;
            Stmt::Template(Spanned::new(Template { children }, it.span()))
        }
        Stmt::EmitExpr(it) => emit(expression(&it.expr)?, it.span()),
        Stmt::EmitRaw(it) => {
            let value = Value::from_object(Literal(it.raw.to_owned()));
            let literal = Expr::Const(Spanned::new(Const { value }, it.span()));
            emit(literal, it.span())
        }
        Stmt::ForLoop(it) => Stmt::ForLoop(Spanned::new(for_loop(it)?, it.span())),
        Stmt::IfCond(it) => {
            let copied = IfCond {
                expr: expression(&it.expr)?,
                true_body: statements(&it.true_body)?,
                false_body: statements(&it.false_body)?,
            };
            Stmt::IfCond(Spanned::new(copied, it.span()))
        }
        Stmt::WithBlock(it) => {
            let pairs = it.assignments.iter();
            let pairs = pairs.map(|(name, value)| Ok((target(name)?, expression(value)?)));
            let copied = WithBlock {
                assignments: pairs.collect::<Result<_, Fault>>()?,
                body: statements(&it.body)?,
            };
            Stmt::WithBlock(Spanned::new(copied, it.span()))
        }
        Stmt::Set(it) => {
            let copied = Set {
                target: target(&it.target)?,
                expr: expression(&it.expr)?,
            };
            Stmt::Set(Spanned::new(copied, it.span()))
        }
        Stmt::SetBlock(it) => {
            return Err(unavailable(it.span(), "`set` blocks are"));
        }
        Stmt::AutoEscape(it) => return Err(unavailable(it.span(), "`autoescape` is")),
        Stmt::FilterBlock(it) => return Err(unavailable(it.span(), "`filter` blocks are")),
        Stmt::Do(it) => return Err(unavailable(it.span(), "`do` is")),
    })
}

fn emit<'a>(expr: Expr<'a>, span: Span) -> Stmt<'a> {
    Stmt::EmitExpr(Spanned::new(EmitExpr { expr }, span))
}

fn for_loop<'a>(it: &Spanned<ForLoop<'a>>) -> Result<ForLoop<'a>, Fault> {
    if it.recursive {
        return Err(unavailable(it.span(), "recursive loops are"));
    }
    Ok(ForLoop {
        target: target(&it.target)?,
        iter: weighed(&it.iter)?,
        filter_expr: it.filter_expr.as_ref().map(expression).transpose()?,
        recursive: false,
        body: statements(&it.body)?,
        else_body: statements(&it.else_body)?,
    })
}

/// The names that are assigned to.
fn target<'a>(expr: &Expr<'a>) -> Result<Expr<'a>, Fault> {
    let targets = |items: &[Expr<'a>]| items.iter().map(target).collect::<Result<Vec<_>, _>>();
    match expr {
        Expr::Var(it) => Ok(Expr::Var(Spanned::new(Var { id: it.id }, it.span()))),
        Expr::List(it) => {
            let items = targets(&it.items)?;
            Ok(Expr::List(Spanned::new(List { items }, it.span())))
        }
        Expr::Tuple(it) => {
            let items = targets(&it.items)?;
            Ok(Expr::Tuple(Spanned::new(Tuple { items }, it.span())))
        }
        Expr::Const(_)
        | Expr::Slice(_)
        | Expr::UnaryOp(_)
        | Expr::BinOp(_)
        | Expr::Compare(_)
        | Expr::IfExpr(_)
        | Expr::Filter(_)
        | Expr::Test(_)
        | Expr::GetAttr(_)
        | Expr::GetItem(_)
        | Expr::Call(_)
        | Expr::Map(_) => Err(at(expr.span(), "only a name can be assigned to")),
    }
}
