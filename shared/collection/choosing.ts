import { z } from 'zod';
import { type CHOOSER_MOVES, MAX_SHOWN_NAME, MAX_SHOWN_TEXT } from './chooserLimits.ts';
import { chosenElementSchema } from './noise.ts';

/*
 * What the frame in which a person chooses an element of an archived page, and the window around it, send each other. The
 * frame has an origin of its own, so the window takes what it sends as it would take what an archived page sends.
 */

export type ChooserMove = (typeof CHOOSER_MOVES)[number];

/** Sent to the frame. `choose` chooses what is shown. */
export type ChooserRequest = { chooser: ChooserMove | 'choose' | 'focus' };

const element = {
  /** The name of the element in lower case. */
  name: z.string().max(MAX_SHOWN_NAME),
  id: z.string().max(MAX_SHOWN_NAME),
  excerpt: z.string().max(MAX_SHOWN_TEXT),
};

/**
 * Sent by the frame: that it is ready; which element it shows; which one was chosen; that its keys are left to the window:
 * by Tab, to what comes after it or before it, or by Escape.
 */
export const chooserMessageSchema = z.discriminatedUnion('chooser', [
  z.strictObject({ chooser: z.literal('ready') }),
  z.strictObject({ chooser: z.literal('shown'), ...element, byKey: z.boolean() }),
  z.strictObject({ chooser: z.literal('chosen'), ...element, element: chosenElementSchema }),
  z.strictObject({ chooser: z.literal('left'), to: z.enum(['after', 'before', 'out']) }),
]);
export type ChooserMessage = z.output<typeof chooserMessageSchema>;
