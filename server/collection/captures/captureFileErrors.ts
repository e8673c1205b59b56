/** A capture file is cut off, corrupt or not a WARC file. */
export class DamagedCaptureFileError extends Error {
  /** Whether the record read last is unreliable too, because its checksum does not match. */
  readonly invalidatesLast: boolean;
  /** Whether nothing after this position can be read, not even if gzip members bound the records. */
  readonly endsFile: boolean;

  constructor(
    message: string,
    {
      invalidatesLast = false,
      endsFile = false,
      cause,
    }: { invalidatesLast?: boolean; endsFile?: boolean; cause?: unknown } = {},
  ) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = 'DamagedCaptureFileError';
    this.invalidatesLast = invalidatesLast;
    this.endsFile = endsFile;
  }
}

/** A file decompresses to more than the limit. The records read before that are kept. */
export class CaptureFileTooLargeError extends Error {
  constructor(limit: number) {
    super(`The file decompresses to more than ${limit} bytes.`);
    this.name = 'CaptureFileTooLargeError';
  }
}
