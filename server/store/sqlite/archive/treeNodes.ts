import type { ArchiveNode } from '../../../../shared/archive/treeNode.ts';
import { type ReadDatabase, statement, type WriteDatabase } from '../engine/open.ts';

const COLUMNS = 'path, title, description, created_at, ledger_entry FROM nodes';

export function insertTreeNode(database: WriteDatabase, node: ArchiveNode & { parent: string | null }): void {
  statement(
    database,
    `INSERT INTO nodes (ledger_entry, path, parent, title, description, created_at)
     VALUES ($ledger_entry, $path, $parent, $title, $description, $created_at)`,
  ).run(node);
}

export function treeNodeAt(database: ReadDatabase, path: string): ArchiveNode | undefined {
  return statement<ArchiveNode>(database, `SELECT ${COLUMNS} WHERE path = ?`).get(path);
}

/** Returns the tree nodes at these paths, parents first. */
export function treeNodesAt(database: ReadDatabase, paths: readonly string[]): ArchiveNode[] {
  return statement<ArchiveNode>(
    database,
    `SELECT ${COLUMNS} WHERE path IN (SELECT value FROM json_each(?)) ORDER BY length(path)`,
  ).all(JSON.stringify(paths));
}

/** Returns all tree nodes, sorted by path, so that parents come first. */
export function allTreeNodes(database: ReadDatabase): ArchiveNode[] {
  return statement<ArchiveNode>(database, `SELECT ${COLUMNS} ORDER BY path`).all();
}

/** Iterates over all tree nodes with their ledger entries, in ledger order. */
export function iterateTreeNodes(database: ReadDatabase): IterableIterator<ArchiveNode> {
  return statement<ArchiveNode>(database, `SELECT ${COLUMNS} ORDER BY ledger_entry`).iterate();
}

/** Returns the newest children of a tree node. */
export function childrenOf(database: ReadDatabase, path: string, limit: number): ArchiveNode[] {
  return statement<ArchiveNode>(
    database,
    `SELECT ${COLUMNS} WHERE parent = ? ORDER BY ledger_entry DESC LIMIT ?`,
  ).all(path, limit);
}

export function countChildren(database: ReadDatabase, path: string): number {
  const row = statement<{ children: number }>(
    database,
    'SELECT count(*) AS children FROM nodes WHERE parent = ?',
  ).get(path);
  return row?.children ?? 0;
}
