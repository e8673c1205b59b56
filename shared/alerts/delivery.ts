import { z } from 'zod';
import { listQuery } from '../values/list.ts';
import { instantSchema } from '../values/text.ts';
import { alertIdSchema } from './alert.ts';

const deliveryIdSchema = z.string().regex(/^ad_[0-9a-f]{20}$/, 'A delivery id is ad_ and 20 hex digits.');

/** What an alert is about. */
const ALERT_KINDS = [
  'event',
  'failure',
  'drift',
  'damage',
  'peer_rewritten',
  'disk',
  'copy_behind',
  'test',
] as const;
export type AlertKind = (typeof ALERT_KINDS)[number];

/** One thing that an alert says, in words. */
const alertItemSchema = z
  .strictObject({
    kind: z.enum(ALERT_KINDS),
    at: instantSchema,
    title: z.string(),
    text: z.string(),
    /** The first lines of the diff: `+` or `−`, a space and a line that was added or removed. */
    diff: z.array(z.string()),
    link: z.string(),
    event: z.int().nullable(),
    source: z.strictObject({ id: z.string(), url: z.string(), name: z.string() }).nullable(),
  })
  .meta({ id: 'AlertItem' });
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
export const deliverySchema = z
  .strictObject({
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
  })
  .meta({ id: 'AlertDelivery' });
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
