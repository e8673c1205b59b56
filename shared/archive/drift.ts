import { z } from 'zod';
import { digestSchema, packIdSchema, sourceIdSchema, studyIdSchema } from '../values/digest.ts';
import { namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** What became of a related work since the pack was received. `returned`: it changed or vanished, and is as it was again. */
const DRIFT_STATES = ['same', 'changed', 'vanished', 'returned'] as const;
export type DriftState = (typeof DRIFT_STATES)[number];

const related = {
  relation: z.string(),
  /** The identifier as the pack's record gives it. */
  identifier: z.string(),
  state: z.enum(DRIFT_STATES),
  /** When it came into this state; null if it is the same. */
  at: instantSchema.nullable(),
  /** The digest that the pack relates to, and the one that is there now; null if it vanished. */
  cited_sha256: digestSchema,
  current_sha256: digestSchema.nullable(),
};

const driftItem = z.discriminatedUnion('kind', [
  z.strictObject({
    ...related,
    kind: z.literal('source'),
    source: z.strictObject({ id: sourceIdSchema, url: z.string(), name: z.string() }),
    /** The event that brought it into this state; null if it is the same. */
    event: z.int().nullable(),
    only_noise: z.boolean().meta({
      description: 'Whether the noise rules of the source explain every change since then.',
    }),
  }),
  z.strictObject({
    ...related,
    kind: z.literal('file'),
    /** The pack that has the file, and its newest version. */
    pack: packIdSchema,
    newest: packIdSchema,
    path: z.string(),
  }),
]);
export type DriftItem = z.output<typeof driftItem>;

/** What became of the related works of a pack that this archive holds or watches. */
export const packDriftSchema = namedObject('PackDrift', {
  pack: packIdSchema,
  /** When the pack was received: the state of before is compared with the one of now. */
  since: instantSchema,
  /** One for each watched source, and for each other pack with the file. Works that the archive does not know are left out. */
  items: z.array(driftItem),
});
export type PackDrift = z.output<typeof packDriftSchema>;

/** The packs of a study whose related works are no longer as they were. */
export const studyDriftSchema = namedObject('StudyDrift', {
  study: studyIdSchema,
  /** How many packs of the study relate to other works, and how many of them were compared: the newest. */
  relating: z.int(),
  compared: z.int(),
  /** The packs with a related work that is not the same, newest first, each with those works. */
  packs: z.array(z.strictObject({ id: packIdSchema, title: z.string(), items: z.array(driftItem) })),
});
export type StudyDrift = z.output<typeof studyDriftSchema>;
