//! Types of handlers, as the document describes them: what each argument asks, and what the result answers.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, Response, StatusCode, Uri};
use axum::{Extension, Json};
use pagurus_wire::export::ExportedOrder;
use pagurus_wire::order::Page;
use schemars::JsonSchema;

use super::{Content, Operation, Schemas};
use crate::Intake;
use crate::http::Answer;
use crate::http::body::Sent;
use crate::http::caller::Caller;
use crate::http::exports::Exported;
use crate::http::pages::Part;
use crate::http::query::{Pairs, Path, Query};

/// An argument of a handler.
pub(in crate::http) trait Asked {
    /// Adds what the argument asks of clients; most ask nothing that types could tell.
    fn describe(_: &mut Operation, _: &mut Schemas) {}
}

impl Asked for State<Intake> {}
impl Asked for Caller {}
impl Asked for HeaderMap {}
impl Asked for Uri {}
impl Asked for Body {}
impl<T> Asked for Extension<T> {}
// The template of the path says it.
impl<T> Asked for Path<T> {}

impl<T: JsonSchema> Asked for Query<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.query(schemas.of_query::<T>());
    }
}

impl<T: JsonSchema> Asked for Pairs<T> {
    fn describe(operation: &mut Operation, schemas: &mut Schemas) {
        operation.query(schemas.of_query::<T>());
    }
}

impl<T: JsonSchema> Asked for Sent<T> {
    fn describe(operation: &mut Operation, _: &mut Schemas) {
        operation.body.push((Content::Json(Schemas::of_request::<T>), true));
    }
}

/// The result of a handler.
pub(in crate::http) trait Told {
    /// Adds the answer, where its type is known.
    fn describe(operation: &mut Operation);
}

impl<T: Told> Told for Result<T, Answer> {
    fn describe(operation: &mut Operation) {
        T::describe(operation);
    }
}

impl<T: JsonSchema> Told for Json<T> {
    fn describe(operation: &mut Operation) {
        operation.answers.push((200, "Done.", Some(Content::Json(Schemas::of_answer::<T>))));
    }
}

impl Told for Exported {
    fn describe(operation: &mut Operation) {
        Json::<Page<ExportedOrder>>::describe(operation);
    }
}

impl<T: JsonSchema> Told for Part<T> {
    fn describe(operation: &mut Operation) {
        Json::<Vec<T>>::describe(operation);
        operation.is_part = true;
    }
}

impl Told for StatusCode {
    fn describe(_: &mut Operation) {}
}

impl Told for Response<Body> {
    fn describe(_: &mut Operation) {}
}

/// A handler whose types say what its route asks and answers.
pub(in crate::http) trait Described<T> {
    /// Adds that to the description of the route.
    fn describe(operation: &mut Operation, schemas: &mut Schemas);
}

macro_rules! described {
    ($($argument:ident)*) => {
        impl<F, R, M, $($argument),*> Described<(M, $($argument,)*)> for F
        where
            F: AsyncHandler<($($argument,)*), Output = R>,
            R: Told,
            $($argument: Asked,)*
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
    /// The answer.
    type Output;
}

described!(A);
described!(A B);
described!(A B C);
described!(A B C D);
described!(A B C D E);
described!(A B C D E G);
