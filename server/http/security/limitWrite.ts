import type { Request, Response } from 'express';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import type { Budget } from '../../archive/limits/budgets.ts';
import { secondsUntil } from '../../archive/limits/budgets.ts';
import type { WriteLimits } from '../../archive/limits/writeLimits.ts';
import { meterBody } from '../body/requestBody.ts';
import type { Visitor } from './access.ts';

/** A POST of the data-pack archive: it is known who asks, and nothing of its body was taken yet. */
export interface IncomingWrite {
  visitor: Visitor;
  request: Request;
  response: Response;
}

/**
 * Lets a write through as far as the limits allow it, and tells visitors in the headers what is left for them.
 *
 * @throws Problem `rate_limited`, `data_cap_reached`, `disk_nearly_full`; whatever the write throws.
 */
export async function limitWrite<Result>(
  limits: WriteLimits,
  { visitor, request, response }: IncomingWrite,
  write: () => Promise<Result>,
): Promise<Result> {
  const coming = limits.coming(visitor);
  meterBody(request, (bytes) => coming.receive(bytes));
  if (request.destroyed) coming.close(0);
  else request.once('close', () => coming.close(bytesReadOf(request)));
  try {
    return await limits.admit(coming, announcedBytes(request), write);
  } finally {
    if (!visitor.owner) response.set(rateLimitHeaders(limits.budgetsOf(visitor), limits.now()));
  }
}

/** How much was read of a body that nobody takes any more, where that is known: Node reads short ones to their end. */
function bytesReadOf({ complete, headers }: Request): number {
  return complete ? Number(headers['content-length'] ?? 0) : 0;
}

/** No body of this size is taken by any endpoint: it is told so at once, and not to come back tomorrow. */
const TOO_LARGE_BYTES = 2 * MAX_PACK_BYTES;

function announcedBytes(request: Request): number {
  const announced = Number(request.headers['content-length'] ?? 0);
  return announced > TOO_LARGE_BYTES ? 0 : announced;
}

/** A structured field's integer has at most 15 digits (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

/** `RateLimit-Policy` and `RateLimit` as draft-ietf-httpapi-ratelimit-headers has them: an item for each limit. */
function rateLimitHeaders(budgets: readonly Budget[], now: number): Record<string, string> {
  const integer = (value: number) => Math.min(MAX_INTEGER, Math.max(0, Math.floor(value)));
  const policies = budgets.map(({ limit, counts, quota, windowSeconds }) => {
    const unit = counts === 'bytes' ? ';qu="content-bytes"' : '';
    return `"${limit}";q=${integer(quota)}${unit};w=${windowSeconds}`;
  });
  const states = budgets.map(
    ({ limit, quota, used, resetsAt }) =>
      `"${limit}";r=${integer(quota - used)};t=${secondsUntil(resetsAt, now)}`,
  );
  return { 'RateLimit-Policy': policies.join(', '), RateLimit: states.join(', ') };
}
