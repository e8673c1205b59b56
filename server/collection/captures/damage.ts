/** A file of captures is cut, corrupt or no such file: nothing after this place can be read. */
export class DamagedCaptureFileError extends Error {
  /** Whether what was read last is itself in doubt: the checksum over it does not hold. */
  readonly spoilsLast: boolean;

  constructor(
    message: string,
    { spoilsLast = false, cause }: { spoilsLast?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DamagedCaptureFileError';
    this.spoilsLast = spoilsLast;
  }
}

/** A file unpacks to more than is taken; what was read before stands. */
export class CaptureFileTooLargeError extends Error {
  constructor(limit: number) {
    super(`The file unpacks to more than ${limit} bytes.`);
    this.name = 'CaptureFileTooLargeError';
  }
}
