/** Logs a message with its details. */
export type Warn = (details: object, message: string) => void;
