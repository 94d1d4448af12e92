//! The expressions that a template may use.

use minijinja::machinery::Span;
use minijinja::machinery::ast::{
    BinOp, BinOpKind, Call, CallArg, CallType, Compare, CompareOp, Const, Expr, Filter, GetAttr,
    GetItem, IfExpr, List, Map, Spanned, Test, Tuple, UnaryOp, UnaryOpKind, Var,
};

use super::super::filters::{FILTERS, RANGE, TESTS};
use super::super::render::Fault;
use super::{at, unavailable};

/// Lets a value pass and charges its size.
pub(in super::super) const WEIGH: &str = "_weigh";
/// Turns a value into text and charges its size.
pub(in super::super) const TEXT: &str = "_text";
/// Lets a number or a text pass and charges its size.
pub(in super::super) const ADDEND: &str = "_addend";
/// Lets a number pass.
pub(in super::super) const NUMBER: &str = "_number";
/// Charges the size of a text, which is walked to find a character.
pub(in super::super) const INDEX: &str = "_index";

pub(super) fn expression<'a>(expr: &Expr<'a>) -> Result<Expr<'a>, Fault> {
    let span = expr.span();
    Ok(match expr {
        Expr::Var(it) => Expr::Var(Spanned::new(Var { id: it.id }, span)),
        Expr::Const(it) => constant(it, span),
        Expr::UnaryOp(it) => unary(it, span)?,
        Expr::BinOp(it) => binary(it, span)?,
        Expr::Compare(it) => {
            let operands = it.ops.iter();
            let operands = operands.map(|one| {
                let expr = weighed(&one.expr)?;
                Ok(CompareOp { op: one.op, expr })
            });
            let copied = Compare {
                expr: weighed(&it.expr)?,
                ops: operands.collect::<Result<_, Fault>>()?,
            };
            Expr::Compare(Spanned::new(copied, span))
        }
        Expr::IfExpr(it) => {
            let copied = IfExpr {
                test_expr: expression(&it.test_expr)?,
                true_expr: expression(&it.true_expr)?,
                false_expr: it.false_expr.as_ref().map(expression).transpose()?,
            };
            Expr::IfExpr(Spanned::new(copied, span))
        }
        Expr::Filter(it) => filter(it, span)?,
        Expr::Test(it) => test(it, span)?,
        Expr::GetAttr(it) => {
            let expr = expression(&it.expr)?;
            Expr::GetAttr(Spanned::new(
                GetAttr {
                    expr,
                    name: it.name,
                },
                span,
            ))
        }
        Expr::GetItem(it) => {
            let copied = GetItem {
                expr: through(INDEX, &it.expr)?,
                subscript_expr: weighed(&it.subscript_expr)?,
            };
            Expr::GetItem(Spanned::new(copied, span))
        }
        Expr::Call(it) => call(it, span)?,
        Expr::List(it) => {
            let items = all_weighed(&it.items)?;
            Expr::List(Spanned::new(List { items }, span))
        }
        Expr::Tuple(it) => {
            let items = all_weighed(&it.items)?;
            Expr::Tuple(Spanned::new(Tuple { items }, span))
        }
        Expr::Map(it) => {
            let (keys, values) = (all_weighed(&it.keys)?, all_weighed(&it.values)?);
            Expr::Map(Spanned::new(Map { keys, values }, span))
        }
        Expr::Slice(_) => {
            return Err(at(
                span,
                "slices are not available in templates; use the filter `truncate`",
            ));
        }
    })
}

pub(super) fn weighed<'a>(expr: &Expr<'a>) -> Result<Expr<'a>, Fault> {
    through(WEIGH, expr)
}

fn all_weighed<'a>(exprs: &[Expr<'a>]) -> Result<Vec<Expr<'a>>, Fault> {
    exprs.iter().map(weighed).collect()
}

/// The value of an expression, passed through a filter.
fn through<'a>(name: &'static str, expr: &Expr<'a>) -> Result<Expr<'a>, Fault> {
    let filter = Filter {
        name,
        expr: Some(expression(expr)?),
        args: Vec::new(),
    };
    Ok(Expr::Filter(Spanned::new(filter, expr.span())))
}

fn constant<'a>(it: &Const, span: Span) -> Expr<'a> {
    let value = it.value.clone();
    Expr::Const(Spanned::new(Const { value }, span))
}

fn unary<'a>(it: &UnaryOp<'a>, span: Span) -> Result<Expr<'a>, Fault> {
    let (op, expr) = match it.op {
        UnaryOpKind::Not => (UnaryOpKind::Not, expression(&it.expr)?),
        UnaryOpKind::Neg => (UnaryOpKind::Neg, through(NUMBER, &it.expr)?),
    };
    Ok(Expr::UnaryOp(Spanned::new(UnaryOp { op, expr }, span)))
}

fn binary<'a>(it: &BinOp<'a>, span: Span) -> Result<Expr<'a>, Fault> {
    let operand = |expr: &Expr<'a>| match it.op {
        BinOpKind::ScAnd | BinOpKind::ScOr => expression(expr),
        BinOpKind::Concat => through(TEXT, expr),
        BinOpKind::Add => through(ADDEND, expr),
        BinOpKind::Sub
        | BinOpKind::Mul
        | BinOpKind::Div
        | BinOpKind::FloorDiv
        | BinOpKind::Rem
        | BinOpKind::Pow => through(NUMBER, expr),
        BinOpKind::Eq
        | BinOpKind::Ne
        | BinOpKind::Lt
        | BinOpKind::Lte
        | BinOpKind::Gt
        | BinOpKind::Gte
        | BinOpKind::In => weighed(expr),
    };
    let (left, right) = (operand(&it.left)?, operand(&it.right)?);
    let copied = BinOp {
        op: it.op,
        left,
        right,
    };
    Ok(Expr::BinOp(Spanned::new(copied, span)))
}

fn filter<'a>(it: &Filter<'a>, span: Span) -> Result<Expr<'a>, Fault> {
    if !FILTERS.contains(&it.name) {
        let known = FILTERS.join(", ");
        let reason = format!("the filter `{}` is unknown; there are {known}", it.name);
        return Err(at(span, reason));
    }
    let filter = Filter {
        name: it.name,
        expr: it.expr.as_ref().map(weighed).transpose()?,
        args: arguments(&it.args, span)?,
    };
    Ok(Expr::Filter(Spanned::new(filter, span)))
}

fn test<'a>(it: &Test<'a>, span: Span) -> Result<Expr<'a>, Fault> {
    if !TESTS.contains(&it.name) {
        let known = TESTS.join(", ");
        let reason = format!("the test `{}` is unknown; there are {known}", it.name);
        return Err(at(span, reason));
    }
    let test = Test {
        name: it.name,
        expr: expression(&it.expr)?,
        args: arguments(&it.args, span)?,
    };
    Ok(Expr::Test(Spanned::new(test, span)))
}

fn call<'a>(it: &Call<'a>, span: Span) -> Result<Expr<'a>, Fault> {
    match it.identify_call() {
        CallType::Function(RANGE) => {
            let function = Var { id: RANGE };
            let call = Call {
                expr: Expr::Var(Spanned::new(function, span)),
                args: arguments(&it.args, span)?,
            };
            Ok(Expr::Call(Spanned::new(call, span)))
        }
        CallType::Function(_) => Err(unavailable(span, "functions other than `range` are")),
        CallType::Method(..) | CallType::Object(_) => Err(unavailable(span, "methods are")),
    }
}

fn arguments<'a>(args: &[CallArg<'a>], span: Span) -> Result<Vec<CallArg<'a>>, Fault> {
    let copied = args.iter().map(|arg| match arg {
        CallArg::Pos(expr) => weighed(expr).map(CallArg::Pos),
        CallArg::Kwarg(name, expr) => Ok(CallArg::Kwarg(name, weighed(expr)?)),
        CallArg::PosSplat(_) | CallArg::KwargSplat(_) => {
            Err(unavailable(span, "`*` and `**` before arguments are"))
        }
    });
    copied.collect()
}
