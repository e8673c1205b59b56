import type { ArchiveNode, NewNode, TreeNode } from '../../shared/archive/study.ts';
import { MAX_NODE_LISTING } from '../../shared/limits.ts';
import { Problem } from '../../shared/problems.ts';
import type { NodePage } from '../../shared/routes/archive/archive.ts';
import { appendEntry } from '../ledger/appendEntry.ts';
import { packCounts, selectPacks } from '../store/sqlite/archive/packLists.ts';
import {
  allTreeNodes,
  childrenOf,
  countChildren,
  countStudiesBelow,
  insertTreeNode,
  studyCountsByNode,
  treeNodeAt,
  treeNodesAt,
} from '../store/sqlite/archive/studies.ts';
import type { ReadDatabase } from '../store/sqlite/engine/open.ts';
import { onSnapshot } from '../store/sqlite/engine/queries.ts';
import type { ReadStore, Store } from '../store/store.ts';
import { pathPrefixes } from './packs/packRows.ts';
import { packTexts } from './packs/readPack.ts';
import { nodeDigest } from './recordedSubjects.ts';
import { listStudies } from './studies.ts';

/** @throws Problem `parent_missing`, `node_exists` */
export async function createTreeNode(
  store: Store,
  { path, title, description }: NewNode,
): Promise<ArchiveNode> {
  const parent = path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : null;
  return store.write((database) => {
    if (treeNodeAt(database, path)) throw new Problem('node_exists', `The subject ${path} already exists.`);
    if (parent !== null && !treeNodeAt(database, parent)) {
      throw new Problem('parent_missing', `The subject ${parent} above it does not exist. Create it first.`);
    }
    const recorded = { path, title, description, created_at: store.instant() };
    const { seq } = appendEntry(database, {
      type: 'node.created',
      subject: path,
      digest: nodeDigest(recorded),
      at: recorded.created_at,
    });
    const node = { ...recorded, ledger_entry: seq };
    insertTreeNode(database, { ...node, parent });
    return node;
  });
}

/** The page of a tree node, without its packs, which are streamed as JSON texts. */
type PageWithoutPacks = Omit<NodePage, 'packs'>;

/** @throws Problem `not_found` */
export function readTreeNode(
  { read }: ReadStore,
  path: string,
): { page: PageWithoutPacks; packs: Iterable<string> } {
  return onSnapshot(read, () => {
    const node = treeNodeAt(read, path);
    if (!node) throw new Problem('not_found', `There is no subject ${path}.`);
    const packs = packCounts(read, 'node');
    const withCounts = (each: ArchiveNode) => ({
      ...each,
      counts: { studies: countStudiesBelow(read, each.path), packs: packs.get(each.path) ?? 0 },
    });
    const page: PageWithoutPacks = {
      ...node,
      counts: { ...withCounts(node).counts, children: countChildren(read, path) },
      ancestors: treeNodesAt(read, pathPrefixes(path).slice(0, -1)).map(({ path, title }) => ({
        path,
        title,
      })),
      children: childrenOf(read, path, MAX_NODE_LISTING).map(withCounts),
      studies: listStudies({ read }, { node: path, limit: MAX_NODE_LISTING, offset: 0 }).items,
    };
    return { page, packs: packTexts(read, newestPacks(read, path)) };
  });
}

function newestPacks(database: ReadDatabase, node: string): number[] {
  const { entries } = selectPacks(database, {
    filters: [{ filter: 'node', value: node }],
    match: undefined,
    order: 'received',
    descending: true,
    limit: MAX_NODE_LISTING,
    offset: 0,
  });
  return entries;
}

/** Returns all nodes as a tree, siblings sorted by path, each with the counts of its whole subtree. */
export function readTree({ read }: Pick<Store, 'read'>): TreeNode[] {
  return onSnapshot(read, () => {
    const studies = studyCountsByNode(read);
    const packs = packCounts(read, 'node');
    const roots: TreeNode[] = [];
    const byPath = new Map<string, TreeNode>();
    for (const node of allTreeNodes(read)) {
      const counts = { studies: studies.get(node.path) ?? 0, packs: packs.get(node.path) ?? 0 };
      const treeNode: TreeNode = { ...node, counts, children: [] };
      byPath.set(node.path, treeNode);
      const parent = byPath.get(node.path.slice(0, Math.max(0, node.path.lastIndexOf('/'))));
      (parent?.children ?? roots).push(treeNode);
    }
    // From the leaves up. Pack counts already include the subtree.
    for (const node of [...byPath.values()].reverse()) {
      const parent = byPath.get(node.path.slice(0, Math.max(0, node.path.lastIndexOf('/'))));
      if (parent) parent.counts.studies += node.counts.studies;
    }
    return roots;
  });
}
