import { z } from 'zod';
import { packIdSchema } from '../values/digest.ts';
import { listQuery, namedObject, searchParameter } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';
import { findingIdSchema } from './finding.ts';

/*
 * A case is an ordered list of events, packs and findings with a note each, for an investigation or a paper. It is not
 * named “collection”, because that word means the observation of sources.
 */

export const caseIdSchema = z.string().regex(/^ca_[0-9a-f]{20}$/, 'A case id is ca_ and 20 hex digits.');

export const MAX_CASE_ITEMS = 1_000;

const note = text(0, 2_000);

const eventId = z.string().regex(/^[1-9]\d{0,14}$/, 'The id of an event is its number.');

/** An item, by the schema of its note. */
function itemOf<Note extends z.ZodType>(noteSchema: Note) {
  return z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('event'), id: eventId, note: noteSchema }),
    z.strictObject({ kind: z.literal('pack'), id: packIdSchema, note: noteSchema }),
    z.strictObject({ kind: z.literal('finding'), id: findingIdSchema, note: noteSchema }),
  ]);
}

/** An item of a case as a client sends it. */
export const newCaseItemSchema = itemOf(note.default('')).meta({ id: 'NewCaseItem' });
export type NewCaseItem = z.output<typeof newCaseItemSchema>;

function listOf<Item extends z.ZodType<Pick<NewCaseItem, 'kind' | 'id'>>>(item: Item) {
  return z
    .array(item)
    .max(MAX_CASE_ITEMS, `At most ${MAX_CASE_ITEMS} items.`)
    .refine(
      (given) => new Set(given.map(({ kind, id }) => `${kind} ${id}`)).size === given.length,
      'Each item only once.',
    );
}

const items = listOf(newCaseItemSchema);

export const newCaseSchema = z
  .strictObject({ title: text(1, 300), description: text(0, 20_000).default(''), items: items.default([]) })
  .meta({ id: 'NewCase' });
export type NewCase = z.output<typeof newCaseSchema>;

export const caseChangeSchema = namedObject('CaseChange', {
  /** The revision that the change is based on. */
  revision: z.int().min(1),
  title: newCaseSchema.shape.title.optional(),
  description: text(0, 20_000).optional(),
  items: items.optional(),
});
export type CaseChange = z.output<typeof caseChangeSchema>;

/** A case as it is stored and dumped. */
export const storedCaseSchema = z.strictObject({
  id: caseIdSchema,
  title: newCaseSchema.shape.title,
  description: text(0, 20_000),
  items: listOf(itemOf(note)),
  revision: z.int().min(1),
  created_at: instantSchema,
  changed_at: instantSchema,
});
export type StoredCase = z.output<typeof storedCaseSchema>;

const caseItemSchema = namedObject('CaseItem', {
  kind: z.enum(['event', 'pack', 'finding']),
  id: z.string(),
  note: z.string(),
  /** The address of an event's source, the title of a pack, or the text of a finding. */
  name: z.string(),
  at: instantSchema,
});
export type CaseItem = z.output<typeof caseItemSchema>;

export const caseSummarySchema = namedObject('CaseSummary', {
  id: caseIdSchema,
  title: z.string(),
  description: z.string(),
  items: z.int(),
  revision: z.int(),
  created_at: instantSchema,
  changed_at: instantSchema,
});
export type CaseSummary = z.output<typeof caseSummarySchema>;

export const caseSchema = caseSummarySchema.extend({ items: z.array(caseItemSchema) }).meta({ id: 'Case' });
export type Case = z.output<typeof caseSchema>;

export const casesQuery = z.strictObject({ ...listQuery, q: searchParameter.optional() });
export type CasesQuery = z.output<typeof casesQuery>;
