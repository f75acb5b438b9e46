//! Types of handlers, as the document describes them: what each argument asks, and what the result answers.

use axum::body::Body;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::{Extension, Json};
use pagurus_wire::export::ExportedOrder;
use pagurus_wire::order::Page;
use schemars::JsonSchema;

use super::content::BodyContent;
use super::operation::Operation;
use super::schemas::Schemas;
use crate::Intake;
use crate::http::ProblemResponse;
use crate::http::body::Sent;
use crate::http::caller::{Caller, Scope, ScopedViews};
use crate::http::exports::Exported;
use crate::http::pages::Part;
use crate::http::query::{Pairs, Path, Query};

/// An argument of a handler.
pub(in crate::http) trait HandlerArgument {
    /// Adds what the argument asks of clients; most ask nothing that types could show.
    fn describe(_: &mut Operation, _: &mut Schemas) {}
}

impl HandlerArgument for State<Intake> {}
impl HandlerArgument for Caller {}
impl HandlerArgument for Scope {}
impl HandlerArgument for ScopedViews {}
impl HandlerArgument for HeaderMap {}
impl HandlerArgument for Parts {}
impl HandlerArgument for Uri {}
impl HandlerArgument for Body {}
impl<T> HandlerArgument for Extension<T> {}
// The template of the path says it.
impl<T> HandlerArgument for Path<T> {}

impl<T: JsonSchema> HandlerArgument for Query<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.query(schemas.of_query::<T>());
    }
}

impl<T: JsonSchema> HandlerArgument for Pairs<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.query(schemas.of_query::<T>());
    }
}

impl<T: JsonSchema> HandlerArgument for Sent<T> {
    fn describe(operation: &mut Operation, _: &mut Schemas) {
        operation.body.push((BodyContent::Json(Schemas::of_request::<T>), true));
    }
}

/// The result of a handler.
pub(in crate::http) trait HandlerOutput {
    /// Adds the answer, where its type is known.
    fn describe(operation: &mut Operation);
}

impl<T: HandlerOutput> HandlerOutput for Result<T, ProblemResponse> {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
    }
}

impl<T: JsonSchema> HandlerOutput for Json<T> {
    fn describe(operation: &mut Operation) {
        operation.answers.push((200, "Done.", Some(BodyContent::Json(Schemas::of_answer::<T>))));
    }
}

impl HandlerOutput for Exported {
    fn describe(operation: &mut Operation) {
        Json::<Page<ExportedOrder>>::describe(operation);
    }
}

impl<T: JsonSchema> HandlerOutput for Part<T> {
    fn describe(operation: &mut Operation) {
        Json::<Vec<T>>::describe(operation);
        operation.is_part = true;
    }
}

impl HandlerOutput for StatusCode {
    fn describe(_: &mut Operation) {}
}

impl HandlerOutput for Response<Body> {
    fn describe(_: &mut Operation) {}
}

/// A handler whose types say what its route asks and answers.
pub(in crate::http) trait Described<T> {
    /// Adds what they say to the description of the route.
    fn describe(operation: &mut Operation, schemas: &mut Schemas);
}

macro_rules! described {
    ($($argument:ident)*) => {
        impl<F, R, M, $($argument),*> Described<(M, $($argument,)*)> for F
        where
            F: AsyncHandler<($($argument,)*), Output = R>,
            R: HandlerOutput,
            $($argument: HandlerArgument,)*
        {
            fn describe(operation: &mut Operation, schemas: &mut Schemas) {
                $($argument::describe(operation, schemas);)*
                R::describe(operation);
            }
        }

        impl<F, U, $($argument),*> AsyncHandler<($($argument,)*)> for F
        where
            F: Fn($($argument),*) -> U,
            U: Future,
        {
            type Output = U::Output;
        }
    };
}

/// A function that answers later.
pub(in crate::http) trait AsyncHandler<T> {
    /// Type of the answer.
    type Output;
}

described!(A);
described!(A B);
described!(A B C);
described!(A B C D);
described!(A B C D E);
described!(A B C D E G);
described!(A B C D E G H);
