import { z } from 'zod';
import { EVENT_TYPES, eventTypeSchema, LABEL_FILTERS } from '../collection/event.ts';
import { findingIdSchema } from '../findings/finding.ts';
import { sourceIdSchema } from '../values/digest.ts';
import { listQuery, namedObject } from '../values/list.ts';
import { httpUrlSchema, instantSchema, text } from '../values/text.ts';
import { mailAddressSchema } from './smtp.ts';

const alertIdSchema = z.string().regex(/^al_[0-9a-f]{20}$/, 'An alert id is al_ and 20 hex digits.');

const MAX_LISTED = 200;

/** A list of alternatives: one of them suffices. An empty list would match nothing, so it is refused. */
function anyOf<Item extends z.ZodType<string>>(item: Item) {
  return z
    .array(item)
    .min(1, 'Name at least one, or leave this out.')
    .max(MAX_LISTED, `At most ${MAX_LISTED}.`)
    .refine((all) => new Set(all).size === all.length, 'Name each once.')
    .optional();
}

const word = text(1, 200).refine(
  (value) => /[\p{L}\p{N}]/u.test(value),
  'Enter at least one letter or digit.',
);
const words = anyOf(word);

const number = z
  .strictObject({
    above: z.number().optional(),
    below: z.number().optional(),
    changed_by: z.number().positive('More than 0.').optional(),
  })
  .refine((given) => Object.keys(given).length > 0, 'Give above, below or changed_by.')
  .refine(({ above, below }) => above === undefined || below === undefined || above < below, {
    path: ['below'],
    message: 'No number is above the one and below the other.',
  });

/** What must be true within the watched part of a change, or of a first version. */
const conditionFields = {
  number: number.optional().meta({
    description:
      'The first number within what is watched has changed, and is now above or below a number, or by so much.',
  }),
  pattern: text(1, 1_000).optional().meta({
    description:
      'A regular expression (RE2) that matches something in what is watched that it did not match in the version before.',
  }),
  appears: words.meta({ description: 'One of these words is in what is watched, and was not before.' }),
  disappears: words.meta({ description: 'One of these words was in what is watched, and is no longer.' }),
};
export type Conditions = z.output<z.ZodObject<typeof conditionFields>>;

/** What an alert is about. Events are watched if one of the first fields says so, or if no field names anything else. */
const alertWhenSchema = namedObject('AlertWhen', {
  event_types: anyOf(eventTypeSchema).meta({ description: 'Events of these types; all if absent.' }),
  tags: anyOf(text(1, 100)).meta({ description: 'Only sources with one of these tags.' }),
  agencies: anyOf(text(1, 200)).meta({ description: 'Only sources of one of these agencies.' }),
  sources: anyOf(sourceIdSchema).meta({ description: 'Only these sources.' }),
  words: words.meta({
    description:
      'Only changes that add or remove one of these words or phrases. Case and accents are ignored; the beginning of a word is enough.',
  }),
  ...conditionFields,
  confirm: z.boolean().optional().meta({
    description:
      '`true` fetches the source a second time, 30 seconds after a change was found to match, and alerts only if it still does.',
  }),
  labels: anyOf(z.enum(LABEL_FILTERS)).meta({
    description:
      'Only events whose version has one of these labels; `any`: has a label; `none`: has no label. Changes outside the watched part of their source match only if `outside` is named.',
  }),
  not_noise: z
    .boolean()
    .optional()
    .meta({ description: '`true` leaves out changes that the noise rules of their source explain.' }),
  failures: z.boolean().optional().meta({ description: 'A source can no longer be retrieved.' }),
  drift: z
    .boolean()
    .optional()
    .meta({ description: 'A related work of a pack changed, disappeared or returned.' }),
  damaged: z.boolean().optional().meta({ description: 'A stored object is damaged or missing.' }),
  peer_rewritten: z.boolean().optional().meta({ description: 'A peer rewrote its ledger.' }),
  profile_expired: z
    .boolean()
    .optional()
    .meta({ description: 'A site no longer accepts the profile with which sources are watched.' }),
  watch_lost: z
    .boolean()
    .optional()
    .meta({ description: 'The watched part of a source is not in its newest version.' }),
  passage_changed: z.boolean().optional().meta({
    description: 'A version of a source no longer has a passage that a finding quotes, or has it changed.',
  }),
  disk: z
    .boolean()
    .optional()
    .meta({ description: 'The disk is nearly full, or the archive has reached its size limit.' }),
  copy_behind: z.boolean().optional().meta({ description: 'A copy of the archive is out of date.' }),
  drill_failed: z
    .boolean()
    .optional()
    .meta({ description: 'A test showed that the archive could not be restored from a copy.' }),
});
export type AlertWhen = z.output<typeof alertWhenSchema>;

/** Kinds of alerts about a source that are no types of events. Who watches sources may name them as if they were. */
const KINDS_AS_TYPES = ['profile_expired', 'watch_lost', 'passage_changed'] as const;
const isKind = (name: string): name is (typeof KINDS_AS_TYPES)[number] =>
  KINDS_AS_TYPES.some((kind) => kind === name);

const oneOrMoreWords = z.union([word.transform((one) => [one]), words.unwrap()]).optional();

/** The same as it is sent to the node: with shorter forms, which are kept in the long one. */
const newAlertWhenSchema = alertWhenSchema
  .extend({
    event_types: anyOf(z.enum([...EVENT_TYPES, ...KINDS_AS_TYPES])).meta({
      description:
        'Events of these types; all if absent. `profile_expired`, `watch_lost` and `passage_changed` are the same as these fields with `true`.',
    }),
    appears: oneOrMoreWords.meta(conditionFields.appears.meta() ?? {}),
    disappears: oneOrMoreWords.meta(conditionFields.disappears.meta() ?? {}),
  })
  .transform(({ event_types: named = [], ...when }): AlertWhen => {
    const event_types = named.filter((name) => !isKind(name));
    const kinds = named.filter(isKind).map((name) => [name, true] as const);
    return { ...when, ...(event_types.length > 0 && { event_types }), ...Object.fromEntries(kinds) };
  })
  .meta({ id: 'NewAlertWhen' });

/** The fields of `when` that are about something other than events. */
export const STATE_CONDITIONS = [
  'failures',
  'drift',
  'damaged',
  'peer_rewritten',
  'profile_expired',
  'watch_lost',
  'passage_changed',
  'disk',
  'copy_behind',
  'drill_failed',
] as const;

/** The fields of `when` that say which events. */
const EVENT_CONDITIONS = [
  'event_types',
  'words',
  'labels',
  'number',
  'pattern',
  'appears',
  'disappears',
  'confirm',
] as const;

/** Returns the conditions on what is watched; undefined if there are none. */
export function conditionsOf({ number, pattern, appears, disappears }: AlertWhen): Conditions | undefined {
  const given = { number, pattern, appears, disappears };
  return isUnconditional(given) ? undefined : given;
}

/** Whether there are no conditions: then any change within what is watched meets them. */
export function isUnconditional(conditions: Conditions): boolean {
  return Object.values(conditions).every((condition) => condition === undefined);
}

/** Whether a rule looks for words or numbers in what changed. */
export function asksForText(when: AlertWhen): boolean {
  return when.words !== undefined || conditionsOf(when) !== undefined;
}

/** What a rule can be about. */
export type AlertSubject = 'events' | (typeof STATE_CONDITIONS)[number];

/** Returns what a rule is about. */
export function subjectsOf(when: AlertWhen): AlertSubject[] {
  const states = STATE_CONDITIONS.filter((name) => when[name] === true);
  return watchesEvents(when) ? ['events', ...states] : states;
}

/** Returns whether a rule is about events. */
export function watchesEvents(when: AlertWhen): boolean {
  return (
    EVENT_CONDITIONS.some((name) => when[name] !== undefined) ||
    !STATE_CONDITIONS.some((name) => when[name] === true)
  );
}

const desktopTarget = z.strictObject({ kind: z.literal('desktop') });
const mailTarget = z.strictObject({ kind: z.literal('email'), address: mailAddressSchema });
const webhook = {
  kind: z.literal('webhook'),
  url: httpUrlSchema.refine(
    (url) => URL.parse(url)?.username === '' && URL.parse(url)?.password === '',
    'The address must not contain a user name or a password.',
  ),
  allow_private: z
    .boolean()
    .optional()
    .meta({ description: 'Whether the address may be in a private network or on this machine.' }),
};

/** The number of bytes of a secret, as Standard Webhooks requires. */
const SECRET_BYTES = { min: 24, max: 64 };

/** A signing secret of Standard Webhooks: 24 to 64 bytes in base64, after `whsec_`. */
const webhookSecretSchema = z.string().refine((secret) => {
  const base64 = secret.replace(/^whsec_/, '');
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) return false;
  const bytes = Math.floor((base64.replace(/=+$/, '').length * 3) / 4);
  return bytes >= SECRET_BYTES.min && bytes <= SECRET_BYTES.max;
}, 'A secret is “whsec_” and 24 to 64 bytes in base64.');

/** Where an alert goes, as it is sent to the node. */
const newTargetSchema = z.discriminatedUnion('kind', [
  desktopTarget,
  mailTarget,
  z.strictObject({
    ...webhook,
    secret: webhookSecretSchema.optional().meta({
      description:
        'The secret of the signature (Standard Webhooks). Without one, the node keeps the one of this address or makes a new one.',
    }),
  }),
]);
export type NewAlertTarget = z.output<typeof newTargetSchema>;

/** Where an alert goes. The secret of a webhook is kept elsewhere. */
export type AlertTarget =
  | { kind: 'desktop' }
  | { kind: 'email'; address: string }
  | { kind: 'webhook'; url: string; allow_private: boolean };

/** Where an alert goes, as it is shown. */
const targetSchema = z
  .discriminatedUnion('kind', [
    desktopTarget,
    mailTarget,
    z.strictObject({
      ...webhook,
      allow_private: z.boolean(),
      secret: z.string().optional().meta({
        description: 'Only in the response to the request for which the node made it. Never shown again.',
      }),
    }),
  ])
  .meta({ id: 'AlertTarget' });
export type ShownAlertTarget = z.output<typeof targetSchema>;

export const ALERT_PACES = ['at_once', 'hourly', 'daily'] as const;
export type AlertPace = (typeof ALERT_PACES)[number];

/** The identity of a target within a rule. */
function targetKey(target: NewAlertTarget | AlertTarget): string {
  if (target.kind === 'desktop') return 'desktop';
  return target.kind === 'email' ? `email ${target.address.toLowerCase()}` : `webhook ${target.url}`;
}

const fields = {
  name: text(1, 200),
  when: newAlertWhenSchema,
  to: z
    .array(newTargetSchema)
    .min(1, 'Say where the alert goes.')
    .max(20, 'At most 20.')
    .refine((all) => new Set(all.map(targetKey)).size === all.length, 'Name each once.'),
  every: z.enum(ALERT_PACES),
  paused: z.boolean(),
};

export const newAlertSchema = z
  .strictObject({ ...fields, every: fields.every.default('at_once'), paused: fields.paused.default(false) })
  .meta({ id: 'NewAlert' });
export type NewAlert = z.output<typeof newAlertSchema>;

export const alertChangeSchema = z.strictObject(fields).partial().meta({ id: 'AlertChange' });
export type AlertChange = z.output<typeof alertChangeSchema>;

/** A rule: what to alert about, where to, and how soon. */
export const alertSchema = namedObject('Alert', {
  ...fields,
  when: alertWhenSchema,
  id: alertIdSchema,
  to: z.array(targetSchema),
  created_at: instantSchema,
});
export type Alert = z.output<typeof alertSchema>;

const deliveryIdSchema = z.string().regex(/^ad_[0-9a-f]{20}$/, 'A delivery id is ad_ and 20 hex digits.');

/** What an alert is about. */
const ALERT_KINDS = [
  'event',
  'failure',
  'drift',
  'damage',
  'peer_rewritten',
  'profile_expired',
  'watch_lost',
  'passage_changed',
  'disk',
  'copy_behind',
  'drill_failed',
  'test',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** One thing that an alert says, in words. */
const alertItemSchema = namedObject('AlertItem', {
  kind: z.enum(ALERT_KINDS),
  at: instantSchema,
  title: z.string(),
  text: z.string(),
  /** The first lines of the diff: `+` or `−`, a space and a line that was added or removed. */
  diff: z.array(z.string()),
  link: z.string(),
  event: z.int().nullable(),
  passage: z
    .strictObject({ finding: findingIdSchema, before: z.string().nullable(), after: z.string().nullable() })
    .optional()
    .meta({
      description:
        'Only of `passage_changed`: the finding, the quoted words, and the words that are there now, at most 2,000 characters of each. `after` is null if there are none, and both are null if visitors may not read them.',
    }),
  source: z.strictObject({ id: z.string(), url: z.string(), name: z.string() }).nullable(),
});
export type AlertItem = z.output<typeof alertItemSchema>;

/** What is sent: one thing, or a digest of several. */
export interface AlertMessage {
  title: string;
  /** When it was put together. */
  at: string;
  alerts: AlertItem[];
  /** How many more there are, beyond those in `alerts`. */
  more: number;
}

export const DELIVERY_STATES = ['waiting', 'sending', 'sent', 'failed'] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** One message to one target. */
export const deliverySchema = namedObject('AlertDelivery', {
  id: deliveryIdSchema.meta({ description: 'Also the `webhook-id` of all its attempts.' }),
  alert: z.strictObject({ id: alertIdSchema, name: z.string() }),
  to: z.discriminatedUnion('kind', [
    z.strictObject({ kind: z.literal('desktop') }),
    z.strictObject({ kind: z.literal('email'), address: z.string() }),
    z.strictObject({ kind: z.literal('webhook'), url: z.string(), allow_private: z.boolean() }),
  ]),
  state: z.enum(DELIVERY_STATES),
  test: z.boolean(),
  /** What it says; null until it is first sent. */
  title: z.string().nullable(),
  /** The number of things that it is about, and the events among them. */
  count: z.int().min(1),
  events: z.array(z.int()),
  created_at: instantSchema,
  attempts: z.int(),
  next_attempt_at: instantSchema.nullable(),
  sent_at: instantSchema.nullable(),
  /** Why the last attempt failed; null if it did not. */
  error: z.string().nullable(),
});
export type Delivery = z.output<typeof deliverySchema>;

export const deliveriesQuery = z.strictObject({
  ...listQuery,
  state: z.enum(DELIVERY_STATES).optional(),
  alert: alertIdSchema.optional(),
});
export type DeliveriesQuery = z.output<typeof deliveriesQuery>;

export const alertTestSchema = z
  .strictObject({ deliveries: z.array(deliverySchema) })
  .meta({ id: 'AlertTest' });
export type AlertTest = z.output<typeof alertTestSchema>;
