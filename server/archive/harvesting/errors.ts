/** The errors of OAI-PMH 2.0 (section 3.6) that can come to pass here; every pack has metadata, and there are sets. */
export type HarvestErrorCode =
  | 'badArgument'
  | 'badResumptionToken'
  | 'badVerb'
  | 'cannotDisseminateFormat'
  | 'idDoesNotExist'
  | 'noRecordsMatch';

/** What a harvester asked that cannot be answered; the answer to it is OAI-PMH's own, with status 200. */
export class HarvestError extends Error {
  readonly code: HarvestErrorCode;

  constructor(code: HarvestErrorCode, message: string) {
    super(message);
    this.name = 'HarvestError';
    this.code = code;
  }
}
