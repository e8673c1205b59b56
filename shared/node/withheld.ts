import { z } from 'zod';
import { digestSchema, packIdSchema, pageIdSchema, sourceIdSchema } from '../values/digest.ts';
import { integerParameter, listQuery, namedObject } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';

/** Why bytes are not shown to visitors. */
export const WITHHELD_REASONS = ['personal_data', 'copyright', 'legal_order', 'login', 'owner'] as const;
export const withheldReasonSchema = z.enum(WITHHELD_REASONS);
export type WithheldReason = z.output<typeof withheldReasonSchema>;

const MAX_NOTE = 2_000;
const noteSchema = z.string().trim().max(MAX_NOTE);

/**
 * What is withheld: the bytes of a digest, what a retrieval brought, the files of a pack, or what a page capture showed.
 * Exactly one is given.
 */
const targetMembers = {
  sha256: digestSchema.optional(),
  retrieval: z.int().min(1).optional(),
  pack: packIdSchema.optional(),
  page: pageIdSchema.optional(),
};
export const TARGET_NAMES = ['sha256', 'retrieval', 'pack', 'page'] as const;
const isOneTarget = (value: object) =>
  Object.keys(value).filter((name) => (TARGET_NAMES as readonly string[]).includes(name)).length === 1;
const ONE_TARGET = { message: 'Give exactly one of sha256, retrieval, pack and page.' };

/** The body of `POST /manage/withheld`. The note is part of the record, which is public. */
export const newWithholdingSchema = z
  .strictObject({ ...targetMembers, reason: withheldReasonSchema, note: noteSchema.optional() })
  .refine(isOneTarget, ONE_TARGET)
  .meta({ id: 'NewWithholding' });
export type NewWithholding = z.output<typeof newWithholdingSchema>;

/** The body of `DELETE /manage/withheld`. The reason and the note may be repeated; only the target counts. */
export const showingSchema = z
  .strictObject({ ...targetMembers, reason: withheldReasonSchema.optional(), note: noteSchema.optional() })
  .refine(isOneTarget, ONE_TARGET)
  .meta({ id: 'NewShowing' });
export type NewShowing = z.output<typeof showingSchema>;

/** What a ledger entry `object.withheld` covers. One of the first four members is not null. */
export const recordedWithholdingSchema = z.strictObject({
  sha256: digestSchema.nullable(),
  retrieval: z.int().min(1).nullable(),
  pack: packIdSchema.nullable(),
  page: pageIdSchema.nullable(),
  reason: withheldReasonSchema,
  note: noteSchema.nullable(),
  at: instantSchema,
});
export type RecordedWithholding = z.output<typeof recordedWithholdingSchema>;

/** A withholding that is in force. */
export const withholdingSchema = namedObject('Withholding', {
  ledger_entry: z.int().min(1),
  ...recordedWithholdingSchema.shape,
  /** How many digests it covers. */
  objects: z.int().min(0),
});
export type Withholding = z.output<typeof withholdingSchema>;

/** The end of a withholding, as the ledger entry `object.shown` covers it. `withheld` is the entry `object.withheld`. */
export const shownSchema = z
  .strictObject({ ledger_entry: z.int().min(1), withheld: z.int().min(1), at: instantSchema })
  .meta({ id: 'Shown' });
export type Shown = z.output<typeof shownSchema>;

/** Why bytes were given up. `age`: the rule of a source removes what is older. */
export const releasedReasonSchema = z.enum([...WITHHELD_REASONS, 'age']);
export type ReleasedReason = z.output<typeof releasedReasonSchema>;

/** The body of `POST /manage/released`. */
export const newReleaseSchema = namedObject('NewRelease', {
  sha256: digestSchema,
  reason: releasedReasonSchema.exclude(['age']),
  note: noteSchema.optional(),
});
export type NewRelease = z.output<typeof newReleaseSchema>;

/** Bytes that were given up for good, as the ledger entry `object.released` covers it. */
export const releaseSchema = namedObject('Release', {
  ledger_entry: z.int().min(1),
  sha256: digestSchema,
  bytes: z.int().min(0),
  reason: releasedReasonSchema,
  note: noteSchema.nullable(),
  at: instantSchema,
});
export type Release = z.output<typeof releaseSchema>;

/** What the state is asked of: exactly one is given. */
export const withheldStateQuery = z
  .strictObject({
    sha256: digestSchema.optional(),
    retrieval: integerParameter(1, Number.MAX_SAFE_INTEGER).optional(),
    pack: packIdSchema.optional(),
    page: pageIdSchema.optional(),
  })
  .refine(isOneTarget, ONE_TARGET);
export type WithheldStateQuery = z.output<typeof withheldStateQuery>;

export const withheldStateSchema = namedObject('WithheldState', {
  /** The withholdings in force, oldest first: its own, and those that cover its bytes. */
  withheld: z.array(withholdingSchema),
  /** Whether its bytes were given up. Null for a pack, which is more than one object. */
  released: releaseSchema.nullable(),
  /** The peer that did not give its bytes, which are therefore not here, and why. Null for a pack. */
  absent: z
    .strictObject({
      peer: z.string(),
      state: z.enum(['withheld', 'released']),
      reason: releasedReasonSchema,
      since: instantSchema,
    })
    .nullable(),
});
export type WithheldState = z.output<typeof withheldStateSchema>;

export const withheldObjectsQuery = z.strictObject({
  ...listQuery,
  withholding: integerParameter(1, Number.MAX_SAFE_INTEGER).meta({
    description: 'The number of the ledger entry `object.withheld`.',
  }),
});

/** A digest that a withholding covers. */
export const withheldObjectSchema = z
  .strictObject({ sha256: digestSchema, bytes: z.int().min(0) })
  .meta({ id: 'WithheldObject' });
export type WithheldObject = z.output<typeof withheldObjectSchema>;

/** How many uses of each kind a preview names. */
export const MAX_PREVIEWED_USES = 100;

/** The first uses of one kind, and how many there are. */
function uses<Item extends z.ZodType>(item: Item) {
  return z.strictObject({ total: z.int().min(0), items: z.array(item).max(MAX_PREVIEWED_USES) });
}

/** What a release would take away: what uses the bytes of a digest, and what holds them. */
export const releasePreviewSchema = namedObject('ReleasePreview', {
  sha256: digestSchema,
  bytes: z.int().min(0),
  /** Whether they were given up already. */
  is_released: z.boolean(),
  /** Whether the bytes are on this disk; otherwise a copy holds them, or they are lost. */
  is_here: z.boolean(),
  /** Files of packs. Without one, its pack is incomplete. */
  packs: uses(z.strictObject({ id: packIdSchema, title: z.string(), path: z.string() })),
  /** Sources that brought them, and how often. */
  sources: uses(z.strictObject({ id: sourceIdSchema, url: z.string(), retrievals: z.int().min(1) })),
  /** Events of which they are the newer or the older version. */
  events: uses(z.strictObject({ id: z.int().min(1), url: z.string(), observed_at: instantSchema })),
  /** Page captures that they are a part of, or that were drawn from them. */
  pages: uses(z.strictObject({ id: pageIdSchema, url: z.string() })),
  /**
   * What was handed in that they are a part of, or its document or file. A file has the bytes of its parts in it, and keeps
   * them until it is released, too.
   */
  handed_in: uses(z.strictObject({ id: z.string(), url: z.string(), file: digestSchema })),
  /** Current findings about them, about such an event, or with a passage of them. */
  findings: uses(z.strictObject({ id: z.string(), text: z.string() })),
  /** Cases with such an event, pack or finding. */
  cases: uses(z.strictObject({ id: z.string(), title: z.string() })),
  /** Copies of this archive that hold them. They are removed there at the next sync. */
  copies: uses(z.strictObject({ id: z.string(), target: z.string() })),
});
export type ReleasePreview = z.output<typeof releasePreviewSchema>;

/** What a description of an object says about bytes that visitors may not read, or that were given up. */
export const markMembers = {
  withheld: z
    .strictObject({ reason: withheldReasonSchema, since: instantSchema })
    .optional()
    .meta({ description: 'Why visitors may not read the bytes, and since when; absent if they may.' }),
  released: z
    .strictObject({ reason: releasedReasonSchema, since: instantSchema })
    .optional()
    .meta({ description: 'Why the bytes were given up, and since when; absent if they were not.' }),
};
const marksSchema = z.strictObject(markMembers);
export type Marks = z.output<typeof marksSchema>;

/** The reasons for which bytes are withheld or given up, as a reader understands them. */
export const RELEASED_REASON_TEXT: Readonly<Record<ReleasedReason, string>> = {
  personal_data: 'personal data',
  copyright: 'copyright',
  legal_order: 'a legal order',
  login: 'it was behind a login',
  owner: 'the owner’s decision',
  age: 'the source keeps its versions for a limited time',
};
