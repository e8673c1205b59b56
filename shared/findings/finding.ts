import { z } from 'zod';
import { markMembers } from '../node/withheld.ts';
import { digestSchema, packIdSchema } from '../values/digest.ts';
import { integerParameter, listQuery, namedObject, searchParameter } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';

export const findingIdSchema = z
  .string()
  .regex(/^fi_[0-9a-f]{20}$/, 'A finding id is fi_ and 20 hex digits.');

/** What the owner does where a record is encrypted to the key of an earlier data folder. A newer key must not be replaced. */
export const ADD_EARLIER_KEY =
  'Stop the node. If this data folder has a withheld.key, add the line of the earlier one below its line; else put the file here. Then start the node.';

const eventTargetIdSchema = z.string().regex(/^[1-9]\d{0,14}$/, 'The id of an event is its number.');
const OTHER_TARGETS = [
  z.strictObject({ kind: z.literal('object'), id: digestSchema }),
  z.strictObject({ kind: z.literal('pack'), id: packIdSchema }),
] as const;

/** What a finding is about. The id of an event is its number in decimal digits. */
const findingTargetSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('event'), id: eventTargetIdSchema }),
    ...OTHER_TARGETS,
  ])
  .meta({ id: 'FindingTarget' });
export type FindingTarget = z.output<typeof findingTargetSchema>;

/** The same as a client gives it: ids of events are numbers everywhere else. */
const newTargetSchema = z
  .discriminatedUnion('kind', [
    z.strictObject({
      kind: z.literal('event'),
      id: z
        .union(
          [eventTargetIdSchema, z.int().min(1).max(999_999_999_999_999)],
          'The id of an event is its number.',
        )
        .transform(String),
    }),
    ...OTHER_TARGETS,
  ])
  .meta({ id: 'NewFindingTarget' });

/** The longest text before and after a quotation that is kept to find it again. */
const MAX_CONTEXT_CHARACTERS = 200;
export const MAX_QUOTE_CHARACTERS = 10_000;

/**
 * A quoted passage, by the selectors of the W3C Web Annotation model: `exact`, `prefix` and `suffix` are a
 * TextQuoteSelector, `start` and `end` a TextPositionSelector over the text derived from the object, `page` a
 * FragmentSelector of a PDF.
 */
export const PASSAGE = {
  /** The object that contains the passage; null for the record of a pack. */
  sha256: digestSchema.nullable(),
  exact: text(1, MAX_QUOTE_CHARACTERS),
  prefix: text(0, MAX_CONTEXT_CHARACTERS),
  suffix: text(0, MAX_CONTEXT_CHARACTERS),
  start: z.int().min(0).nullable(),
  end: z.int().min(0).nullable(),
  page: z.int().min(1).max(1_000_000).nullable(),
};

/** What the node knows of a passage that it found in the text of the object. */
const derivedPassageSchema = namedObject('DerivedPassage', {
  /** The tool that made the text, with its version. */
  tool: z.string().min(1).max(100),
  version: z.string().min(1).max(200),
  text: digestSchema.meta({ description: 'The SHA-256 of the text (UTF-8).' }),
  words_once: z.boolean().meta({
    description: 'Whether the words occur once in the text, white space and the like aside.',
  }),
  context_once: z.boolean().meta({
    description: 'Whether what precedes and what follows the words is around one place of the text only.',
  }),
  dom_path: z.string().max(2_000).optional().meta({
    description:
      'Of an HTML document, the innermost element that contains the passage, as an XPath: `/html[1]/body[1]/p[3]`. Absent where the words have no single place in its elements.',
  }),
  document: digestSchema.optional().meta({
    description:
      'Of the text of a drawn page, the document of a capture that showed this text: `dom_path` is in that document.',
  }),
  box: z
    .strictObject({ x: z.number(), y: z.number(), width: z.number(), height: z.number() })
    .optional()
    .meta({
      description:
        'Of a PDF, the box around the passage on its page, in points. `x` and `y` are the lower left corner, in the coordinates of the page (ISO 32000-1, 8.3.2.3).',
    }),
});
export type DerivedPassage = z.output<typeof derivedPassageSchema>;

const hasRange = ({ start, end }: { start: number | null; end: number | null }) =>
  (start === null) === (end === null) && (start ?? 0) <= (end ?? 0);
const RANGE_RULE = {
  message: 'Give both start and end, with start not after end, or neither.',
  path: ['end'],
};

/** A passage as it is recorded. `derived` is absent if the node did not find it in the text of the object. */
const passageSchema = z
  .strictObject({ ...PASSAGE, derived: derivedPassageSchema.optional() })
  .refine(hasRange, RANGE_RULE)
  .meta({ id: 'Passage' });
export type Passage = z.output<typeof passageSchema>;
/** A passage of an object. */
export type ObjectPassage = Passage & { sha256: string };

const newPassageSchema = z
  .strictObject({
    sha256: PASSAGE.sha256.optional().meta({
      description:
        'The object that contains the passage. Left out, it is that of the target: the object itself, or the version that the event found.',
    }),
    exact: PASSAGE.exact,
    prefix: PASSAGE.prefix.default(''),
    suffix: PASSAGE.suffix.default(''),
    start: PASSAGE.start.default(null),
    end: PASSAGE.end.default(null),
    page: PASSAGE.page.default(null),
  })
  .refine(hasRange, RANGE_RULE)
  .meta({ id: 'NewPassage' });

const findingTagSchema = text(1, 100);
const tags = z
  .array(findingTagSchema)
  .max(50, 'At most 50 tags.')
  .refine((given) => new Set(given).size === given.length, 'Each tag only once.');

export const newFindingSchema = namedObject('NewFinding', {
  target: newTargetSchema,
  text: text(1, 20_000),
  tags: tags.default([]),
  passage: newPassageSchema.nullable().default(null),
  /** The finding that this one replaces. It must be about the same target. */
  supersedes: findingIdSchema.nullable().default(null),
});
export type NewFinding = z.output<typeof newFindingSchema>;
/** A new finding whose passage names its object. */
export type PlacedFinding = Omit<NewFinding, 'passage'> & { passage: Passage | null };

/** Where a passage is in the text that is made of its object now, if another tool made the one that it was quoted from. */
const passageAnchorSchema = namedObject('PassageAnchor', {
  tool: z.string(),
  version: z.string(),
  /** `not_found`: the text does not have it, or not at a place that is surely the quoted one. */
  state: z.enum(['found', 'not_found', 'no_text']),
  start: PASSAGE.start,
  end: PASSAGE.end,
  page: PASSAGE.page,
});
export type PassageAnchor = z.output<typeof passageAnchorSchema>;

export const withdrawalSchema = namedObject('FindingWithdrawal', { reason: text(1, 2_000) });

/** The members that the ledger covers. A withdrawal has no text, tags or passage, and names what it withdraws. */
export const recordedFindingSchema = z.strictObject({
  id: findingIdSchema,
  at: instantSchema,
  target: findingTargetSchema,
  text: text(0, 20_000),
  tags,
  passage: passageSchema.nullable(),
  supersedes: findingIdSchema.nullable(),
  /** Why the superseded finding was withdrawn; null for a finding. */
  withdrawal: text(1, 2_000).nullable(),
});
export type RecordedFinding = z.output<typeof recordedFindingSchema>;

export const newFindingRequestSchema = newFindingSchema
  .extend({
    sealed: z.boolean().default(false).meta({
      description:
        'Whether only a commitment to the finding is published now. It cannot supersede another finding, and is itself superseded or withdrawn only after it was revealed.',
    }),
  })
  .refine(({ sealed, supersedes }) => !sealed || supersedes === null, {
    message: 'A sealed finding cannot supersede another one.',
    path: ['sealed'],
  })
  .meta({ id: 'NewFindingRequest' });

export const saltSchema = z.string().regex(/^[0-9a-f]{64}$/, 'A salt is 64 hex digits.');

const sealSchema = namedObject('Seal', {
  at: instantSchema.meta({ description: 'When it was sealed: the time of its entry `finding.sealed`.' }),
  commitment: digestSchema.meta({
    description:
      'The digest of that entry: the SHA-256 of the 32 bytes of the salt, followed by the canonical JSON of the record.',
  }),
  salt: saltSchema.nullable().meta({ description: 'Null until it is revealed.' }),
  record: recordedFindingSchema.nullable().meta({
    description: 'Null until it is revealed, and while the bytes that it quotes cannot be read.',
  }),
});

export const findingSchema = recordedFindingSchema
  .extend({
    /** The name of the target: the address of an event's source, the title of a pack, the digest of an object. */
    target_name: z.string(),
    superseded_by: findingIdSchema.nullable(),
    ledger_entry: z.int(),
    anchor: passageAnchorSchema.nullable().meta({
      description:
        'Where the passage is now, if the text of its object was made again by another tool since. Null: as in `passage`.',
    }),
    /** Only of a finding that was sealed and then revealed. */
    sealed: sealSchema.optional(),
    /** Why the quoted bytes cannot be read. `passage` is null then, although the ledger covers it. */
    ...markMembers,
  })
  .meta({ id: 'Finding' });
export type Finding = z.output<typeof findingSchema>;

export const findingDetailsSchema = findingSchema
  .extend({
    /** The finding and all its other versions and withdrawals, oldest first. */
    history: z.array(findingSchema),
    evidence: z.string().nullable().meta({
      description:
        'The path of the evidence file, with a text fragment (`#:~:text=`) at which a browser opens it at the passage. Null if no passage was found.',
    }),
  })
  .meta({ id: 'FindingDetails' });
export type FindingDetails = z.output<typeof findingDetailsSchema>;

/** A finding that is sealed. Only the owner gets what it says, and only where the record can be read. */
export const sealedFindingSchema = namedObject('SealedFinding', {
  id: findingIdSchema,
  ledger_entry: z.int(),
  sealed: sealSchema,
  target: findingTargetSchema.optional(),
  target_name: z.string().optional(),
  text: recordedFindingSchema.shape.text.optional(),
  tags: tags.optional(),
  passage: passageSchema.nullable().optional(),
});
export type SealedFinding = z.output<typeof sealedFindingSchema>;

/** `current`: neither superseded nor withdrawn. `withdrawn`: the withdrawals. */
export const FINDING_STATES = ['current', 'superseded', 'withdrawn', 'all'] as const;

const targetFilter = {
  event: integerParameter(1, Number.MAX_SAFE_INTEGER).optional(),
  object: digestSchema.optional().meta({ description: 'Findings about this object, or that quote it.' }),
  pack: packIdSchema.optional(),
};
const findingsFilter = {
  q: searchParameter.optional(),
  tag: z.string().optional(),
  ...targetFilter,
  state: z.enum(FINDING_STATES).default('current'),
};
export const findingsQuery = z.strictObject({ ...listQuery, ...findingsFilter });
export type FindingsQuery = z.output<typeof findingsQuery>;
export const sealedFindingsQuery = z.strictObject({ ...listQuery, ...targetFilter });
export type SealedFindingsQuery = z.output<typeof sealedFindingsQuery>;
export type FindingsFilter = Omit<FindingsQuery, 'limit' | 'offset'>;

export const findingTagsSchema = z
  .strictObject({ tags: z.array(z.strictObject({ tag: z.string(), findings: z.int() })) })
  .meta({ id: 'FindingTags' });
