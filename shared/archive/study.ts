import { z } from 'zod';
import { studyIdSchema } from '../values/digest.ts';
import { listQuery, namedObject, searchParameter } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';
import { outcomeSchema, verdictSchema } from './vocabulary.ts';

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

export const nodeSchema = namedObject('Node', {
  path: nodePathSchema,
  title: z.string(),
  description: z.string(),
  created_at: instantSchema,
  ledger_entry: z.int(),
});

/** The number of studies and packs in the whole subtree of a tree node. */
export const nodeCountsSchema = z.strictObject({ studies: z.int(), packs: z.int() });

export type NewNode = z.output<typeof newNodeSchema>;
export type ArchiveNode = z.output<typeof nodeSchema>;
type NodeCounts = z.output<typeof nodeCountsSchema>;

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

export const studyStatusSchema = z.enum(['planned', 'running', 'completed', 'abandoned']);
export type StudyStatus = z.output<typeof studyStatusSchema>;

/** The allowed transitions between the statuses of a study. */
export const STUDY_TRANSITIONS: Record<StudyStatus, readonly StudyStatus[]> = {
  planned: ['running', 'abandoned'],
  running: ['completed', 'abandoned'],
  completed: ['running'],
  abandoned: ['running'],
};

export const newStudySchema = namedObject('NewStudy', {
  title: text(1, 300),
  question: text(0, 2_000).default(''),
  description: text(0, 20_000).default(''),
  node: nodePathSchema.nullable().default(null),
  status: z.enum(['planned', 'running']).default('planned'),
});

export const newStatusSchema = z
  .strictObject({ status: studyStatusSchema, note: text(0, 2_000).default('') })
  .meta({ id: 'NewStudyStatus' });

const statusStepSchema = z.strictObject({ status: studyStatusSchema, at: instantSchema, note: z.string() });

export const studySchema = namedObject('Study', {
  id: studyIdSchema,
  title: z.string(),
  question: z.string(),
  description: z.string(),
  node: nodePathSchema.nullable(),
  status: studyStatusSchema,
  status_history: z.array(statusStepSchema),
  created_at: instantSchema,
  ledger_entry: z.int(),
  counts: z.strictObject({
    packs: z.int(),
    by_outcome: z.record(outcomeSchema, z.int()),
    by_verdict: z.record(verdictSchema, z.int()),
  }),
});

export const studiesQuery = z.strictObject({
  ...listQuery,
  q: searchParameter.optional(),
  status: studyStatusSchema.optional(),
  node: nodePathSchema.optional(),
});

export const studyTableSchema = namedObject('StudyTable', {
  study: studyIdSchema,
  columns: z.array(
    z.strictObject({ name: z.string(), type: z.enum(['string', 'number', 'boolean', 'mixed']) }),
  ),
  /** One array per pack, in the order of `columns`. Not objects: a result may have the name of a fixed column. */
  rows: z.array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]))),
});

export type NewStudy = z.output<typeof newStudySchema>;
export type NewStudyStatus = z.output<typeof newStatusSchema>;
export type Study = z.output<typeof studySchema>;
export type StudiesQuery = z.output<typeof studiesQuery>;
export type StudyTable = z.output<typeof studyTableSchema>;
