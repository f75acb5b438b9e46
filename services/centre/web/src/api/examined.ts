// Orders that pages let the server examine. A page costs what it shows: where there are more, the answer says that it is of some of them.

/** Orders that are counted or summed: some hundredths of a second of the database. */
export const EXAMINED = 10_000;

/** Failed orders that are put in groups: each costs the database less, and an early error must not hide behind the last ones. */
export const EXAMINED_FAILURES = 30_000;
