import type { WriteDatabase } from './open.ts';

/** The statements of a transaction, prepared once. */
export interface TransactionStatements {
  begin: () => void;
  commit: () => void;
  savepoint: () => void;
  release: () => void;
  undo: () => void;
}

/** Prepares the statements of a transaction on the writing connection. */
export function prepareTransaction(database: WriteDatabase): TransactionStatements {
  const prepare = (sql: string) => {
    const statement = database.prepare(sql);
    return () => void statement.run();
  };
  return {
    begin: prepare('BEGIN IMMEDIATE'),
    commit: prepare('COMMIT'),
    savepoint: prepare('SAVEPOINT change'),
    release: prepare('RELEASE change'),
    undo: prepare('ROLLBACK TO change'),
  };
}
