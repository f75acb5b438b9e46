//! Statements have names: each stands in its module's `statements!` and in
//! [`crate::statements::all`], so that a test prepares every one against the migrated schema and looks at the plans of the hot ones.

/// A named statement.
#[derive(Clone, Copy, Debug)]
pub struct Statement {
    /// `module::NAME`.
    pub name: &'static str,
    /// The text.
    pub sql: &'static str,
}

impl Statement {
    /// The name within its module.
    #[must_use]
    pub fn short_name(&self) -> &'static str {
        self.name.rsplit("::").next().unwrap_or(self.name)
    }
}

/// Declares the statements of a module as constants, and lists them.
macro_rules! statements {
    ($($name:ident = $sql:expr;)+) => {
        $(const $name: &str = $sql;)+

        /// The statements of this module.
        pub(crate) const STATEMENTS: &[$crate::sql::Statement] = &[
            $($crate::sql::Statement { name: concat!(module_path!(), "::", stringify!($name)), sql: $name },)+
        ];
    };
}
pub(crate) use statements;

/// Status that outsiders see, as SQL: of `o`, a row of `orders`, beside `w` and `r`, its rows of `running` and
/// `ready`. The rule is [`pagurus_domain::order::change::shown`]; here it has the only spelling in SQL.
macro_rules! shown_status {
    () => {
        "CASE WHEN w.order_no IS NOT NULL OR r.reissued THEN 'running' ELSE o.status END"
    };
}
pub(crate) use shown_status;

/// True for a name that somebody sees, as SQL. The parameters are the patterns of
/// [`pagurus_domain::access::scope::AccessScope::as_likes`]; without them every name is seen.
macro_rules! name_in_scope {
    ($kind:literal, $name:literal, $hidden:literal, $own:literal) => {
        concat!(
            "(",
            $hidden,
            "::text[] IS NULL OR NOT '",
            $kind,
            ":' || ",
            $name,
            " LIKE ANY(",
            $hidden,
            ") OR '",
            $kind,
            ":' || ",
            $name,
            " LIKE ANY(",
            $own,
            "::text[]))"
        )
    };
}
pub(crate) use name_in_scope;

/// True for an order, a row `o` of `orders`, that somebody sees: each of its names is.
macro_rules! in_scope {
    ($hidden:literal, $own:literal) => {
        concat!(
            "(",
            $hidden,
            "::text[] IS NULL OR ",
            crate::sql::name_in_scope!("flow", "o.flow", $hidden, $own),
            " AND (o.queue IS NULL OR ",
            crate::sql::name_in_scope!("queue", "o.queue", $hidden, $own),
            ") AND ",
            crate::sql::name_in_scope!(
                "scenario",
                "(SELECT n.name FROM scenarios n WHERE n.no = o.scenario)",
                $hidden,
                $own
            ),
            ")"
        )
    };
}
pub(crate) use in_scope;

/// Events of `history` that tell of a stage that was taken over from a node that was lost, as SQL.
macro_rules! taken_over {
    () => {
        r#"kind = 'reissued' AND detail LIKE '%"finding":"node_lost"%'"#
    };
}
pub(crate) use taken_over;
