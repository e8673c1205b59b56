import { z } from 'zod';
import { instantSchema, text } from '../values/text.ts';

const SEGMENT = '[a-z0-9][a-z0-9-]{0,63}';

/** The path of a tree node: 1 to 8 segments of lowercase letters, digits and hyphens. */
export const nodePathSchema = z
  .string()
  .regex(
    new RegExp(`^${SEGMENT}(/${SEGMENT}){0,7}$`),
    'A path must be 1 to 8 segments of a-z, 0-9 and -, separated by /.',
  )
  .meta({ id: 'NodePath' });

export const newNodeSchema = z
  .strictObject({ path: nodePathSchema, title: text(1, 200), description: text(0, 10_000).default('') })
  .meta({ id: 'NewNode' });

export const nodeSchema = z
  .strictObject({
    path: nodePathSchema,
    title: z.string(),
    description: z.string(),
    created_at: instantSchema,
    ledger_entry: z.int(),
  })
  .meta({ id: 'Node' });

/** The number of studies and packs in the whole subtree of a tree node. */
export const nodeCountsSchema = z.strictObject({ studies: z.int(), packs: z.int() });

export type NewNode = z.output<typeof newNodeSchema>;
export type ArchiveNode = z.output<typeof nodeSchema>;
export type NodeCounts = z.output<typeof nodeCountsSchema>;

export type TreeNode = ArchiveNode & { counts: NodeCounts; children: TreeNode[] };
const treeNodeSchema: z.ZodType<TreeNode> = nodeSchema
  .extend({
    counts: nodeCountsSchema,
    get children() {
      return z.array(treeNodeSchema);
    },
  })
  .meta({ id: 'TreeNode' });

export const treeSchema = z.strictObject({ nodes: z.array(treeNodeSchema) });
