import type { Request, Response } from 'express';
import { MAX_PACK_BYTES } from '../../../shared/limits.ts';
import type { Budget } from '../../archive/limits/budgets.ts';
import { secondsUntil } from '../../archive/limits/budgets.ts';
import type { AdmittedWrite, WriteLimits } from '../../archive/limits/writeLimits.ts';
import { meterBody } from '../body/requestBody.ts';
import type { Visitor } from './access.ts';

/** A POST to the data-pack archive whose client is identified and whose body has not been read. */
export interface IncomingWrite {
  visitor: Visitor;
  request: Request;
  response: Response;
}

/**
 * Runs a write if the limits allow it, and reports the remaining budgets to visitors in the response headers.
 *
 * @throws Problem `rate_limited`, `data_cap_reached`, `disk_nearly_full`; any error of the write.
 */
export async function limitWrite<Result>(
  limits: WriteLimits,
  { visitor, request, response }: IncomingWrite,
  write: (admitted: AdmittedWrite) => Promise<Result>,
): Promise<Result> {
  const admission = limits.beginAdmission(visitor);
  meterBody(request, (bytes) => admission.receive(bytes));
  if (request.destroyed) admission.close(0);
  else request.once('close', () => admission.close(bytesReadOf(request)));
  try {
    return await limits.admit(admission, announcedBytes(request), write);
  } finally {
    if (!visitor.owner) response.set(rateLimitHeaders(limits.budgetsOf(visitor), limits.now()));
  }
}

/** Returns how much of an unread body was received, if known. Node itself reads short bodies to their end. */
function bytesReadOf({ complete, headers }: Request): number {
  return complete ? Number(headers['content-length'] ?? 0) : 0;
}

/** No endpoint accepts a larger body. It is refused as too large, not as rate-limited. */
const TOO_LARGE_BYTES = 2 * MAX_PACK_BYTES;

function announcedBytes(request: Request): number {
  const announced = Number(request.headers['content-length'] ?? 0);
  return announced > TOO_LARGE_BYTES ? 0 : announced;
}

/** Integers in structured fields have at most 15 digits (RFC 9651, section 3.3.1). */
const MAX_INTEGER = 999_999_999_999_999;

/** Returns `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers), with one item per limit. */
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
