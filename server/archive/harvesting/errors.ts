/** The errors of OAI-PMH 2.0 (section 3.6) that can occur: every pack has metadata, and sets are supported. */
export type HarvestErrorCode =
  | 'badArgument'
  | 'badResumptionToken'
  | 'badVerb'
  | 'cannotDisseminateFormat'
  | 'idDoesNotExist'
  | 'noRecordsMatch';

/** An invalid OAI-PMH request. It is answered with an OAI-PMH error and status 200. */
export class HarvestError extends Error {
  readonly code: HarvestErrorCode;

  constructor(code: HarvestErrorCode, message: string) {
    super(message);
    this.name = 'HarvestError';
    this.code = code;
  }
}
