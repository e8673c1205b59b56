import type { Request } from 'express';
import type { Visitor } from './access.ts';

/** A write to the data-pack archive that is about to be read: nothing of its body was taken yet. */
export interface ComingWrite {
  visitor: Visitor;
  request: Request;
}

/**
 * Stands before every POST of the data-pack archive, after it is known who asks and before the body is read. Throws a
 * Problem to refuse it.
 */
export type BeforeWrite = (write: ComingWrite) => void | Promise<void>;
