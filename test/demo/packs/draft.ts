import { stringify } from 'csv-stringify/sync';
import type { Pack, PackRecordInput, ResultValue } from '../../../shared/archive/pack.ts';
import type { Outcome } from '../../../shared/archive/vocabulary.ts';
import { PACK_FORMAT, TERMS_VERSION } from '../../../shared/limits.ts';
import { type Dataset, textFile } from '../datasets.ts';
import type { OwnerApi, UploadFile } from '../ownerApi.ts';

/** The parts in which the packs of the demonstration differ. */
export interface Draft {
  dataset: Dataset;
  title: string;
  summary: string;
  method: { text: string; complete: boolean };
  outcome: Outcome;
  results: Record<string, ResultValue>;
  keywords: string[];
  node: string;
  study?: string;
  replicates?: PackRecordInput['replicates'];
  supersedes?: string;
  /** The rows that the results were computed from, with their column names. */
  used: { columns: string[]; rows: (string | number)[][] };
}

/** The rule for the outcome. It is part of each method, so that every pack can be checked on its own. */
export const OUTCOME_RULE =
  'The outcome is “positive” if the 95 % interval lies above 0, “negative” if it lies below 0, and “null” if it holds 0.';

/** Publishes one pack: the original data, a note on its source, and the rows that were used. */
export async function publish(api: OwnerApi, draft: Draft): Promise<Pack> {
  const { dataset } = draft;
  const files: UploadFile[] = [
    dataset.file,
    dataset.sourceNote,
    { ...textFile('used.csv', stringify([draft.used.columns, ...draft.used.rows])), mediaType: 'text/csv' },
  ];
  return api.addPack(
    {
      pack_format: PACK_FORMAT,
      terms_version: TERMS_VERSION,
      title: draft.title,
      summary: `${draft.summary}\n\n${dataset.provenance}`,
      authors: [{ name: 'Strongroom demonstration' }],
      license: dataset.license,
      outcome: draft.outcome,
      method: draft.method,
      results: draft.results,
      keywords: draft.keywords,
      node: draft.node,
      study: draft.study ?? null,
      replicates: draft.replicates ?? null,
      supersedes: draft.supersedes ?? null,
      related: dataset.origins.map((identifier) => ({ relation: 'IsDerivedFrom', identifier })),
    },
    files,
  );
}
