import { z } from 'zod';

/** The enumerations of the data-pack archive. Their schemas are apart, so that a list of packs loads no schemas. */
export const LICENSES = ['CC-BY-4.0', 'CC0-1.0'] as const;
export const OUTCOMES = ['positive', 'negative', 'null', 'mixed'] as const;
export const VERDICTS = ['reproduced', 'partial', 'failed'] as const;
export const TAGS = ['replicable', 'report-only'] as const;
export const FLAG_REASONS = ['privacy', 'copyright', 'fabricated', 'unsafe', 'duplicate', 'other'] as const;

export type License = (typeof LICENSES)[number];
export type Outcome = (typeof OUTCOMES)[number];
export type Verdict = (typeof VERDICTS)[number];
export type Tag = (typeof TAGS)[number];
export type FlagReason = (typeof FLAG_REASONS)[number];

/** The relations of a pack to other works: `relationType` of the DataCite Metadata Schema 4.6, appendix 1. */
export const RELATION_TYPES = [
  'IsCitedBy',
  'Cites',
  'IsCollectedBy',
  'Collects',
  'IsSupplementTo',
  'IsSupplementedBy',
  'IsContinuedBy',
  'Continues',
  'IsDescribedBy',
  'Describes',
  'HasMetadata',
  'IsMetadataFor',
  'HasVersion',
  'IsVersionOf',
  'IsNewVersionOf',
  'IsPreviousVersionOf',
  'IsPartOf',
  'HasPart',
  'IsPublishedIn',
  'IsReferencedBy',
  'References',
  'IsDocumentedBy',
  'Documents',
  'IsCompiledBy',
  'Compiles',
  'IsVariantFormOf',
  'IsOriginalFormOf',
  'IsIdenticalTo',
  'IsReviewedBy',
  'Reviews',
  'IsDerivedFrom',
  'IsSourceOf',
  'IsRequiredBy',
  'Requires',
  'IsObsoletedBy',
  'Obsoletes',
  'HasTranslation',
  'IsTranslationOf',
] as const;

export const licenseSchema = z.enum(LICENSES);
export const outcomeSchema = z.enum(OUTCOMES);
export const verdictSchema = z.enum(VERDICTS);
export const tagSchema = z.enum(TAGS);
export const flagReasonSchema = z.enum(FLAG_REASONS);
export const relationSchema = z.enum(RELATION_TYPES);
