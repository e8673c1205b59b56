import { z } from 'zod';
import { FLAG_REASONS, LICENSES, OUTCOMES, RELATION_TYPES, TAGS, VERDICTS } from './vocabulary.ts';

export const licenseSchema = z.enum(LICENSES);
export const outcomeSchema = z.enum(OUTCOMES);
export const verdictSchema = z.enum(VERDICTS);
export const tagSchema = z.enum(TAGS);
export const flagReasonSchema = z.enum(FLAG_REASONS);
export const relationSchema = z.enum(RELATION_TYPES);
