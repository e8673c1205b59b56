import { z } from 'zod';
import { namedObject } from '../values/list.ts';
import { instantSchema, text } from '../values/text.ts';

/** A browser is signed out if its session was not used for this many days. */
export const SESSION_DAYS = 30;

const sessionIdSchema = z.string().regex(/^se_[0-9a-f]{20}$/, 'A session id is se_ and 20 hex digits.');

export const ownerSessionSchema = namedObject('OwnerSession', {
  id: sessionIdSchema,
  created_at: instantSchema,
  /** Updated at most once an hour. */
  last_used_at: instantSchema,
  /** A short description of the browser; empty if unknown. */
  label: z.string(),
  /** Whether this session sent the request. */
  current: z.boolean(),
});
export type OwnerSession = z.output<typeof ownerSessionSchema>;

export const sessionChallengeSchema = namedObject('SessionChallenge', {
  /** It is signed once. The node that made it accepts it until it stops. */
  challenge: z.string(),
  /** The name of the node. A page has one key for each node that it was signed in to. */
  node: z.string(),
});

/** Longer than any encoded key on P-256 or signature with one. */
const MAX_BASE64 = 200;
const base64Schema = z
  .string()
  .regex(/^[A-Za-z0-9+/]+={0,2}$/, 'This is not base64.')
  .max(MAX_BASE64);

export const sessionProofSchema = namedObject('SessionProof', {
  /** A public key on P-256 (SubjectPublicKeyInfo in DER, in base64). */
  public_key: base64Schema,
  challenge: z.string().max(MAX_BASE64),
  /** The ECDSA signature with SHA-256 over `signedText`, as r and s (IEEE P1363), in base64. */
  signature: base64Schema,
  /** The code to which a sign-in link led. It signs the key in; without it, the key must be signed in. */
  code: z.string().max(MAX_BASE64).optional(),
});
export type SessionProof = z.output<typeof sessionProofSchema>;

export const runTokenSchema = namedObject('RunToken', {
  /** A Bearer token. It is valid until the node stops or the session ends. */
  token: z.string(),
  /** The key for `ticketText`, in hex. */
  ticket_key: z.string(),
  /** The node's time. Tickets expire by its clock. */
  time: instantSchema,
});
export type RunToken = z.output<typeof runTokenSchema>;

const invitationIdSchema = z
  .string()
  .regex(/^in_[0-9a-f]{20}$/, 'An invitation id is in_ and 20 hex digits.');

/** The prefix of every invitation token. It distinguishes them from the owner's token. */
export const INVITATION_TOKEN_PREFIX = 'invitation-';

export const newInvitationSchema = namedObject('NewInvitation', {
  /** A note for the owner, such as the name of the invited person. Only the owner can see it. */
  name: text(0, 100).default(''),
});

export const invitationSchema = namedObject('Invitation', {
  id: invitationIdSchema,
  name: z.string(),
  created_at: instantSchema,
  last_used_at: instantSchema.nullable(),
  /** The number of writes made with the token. */
  writes: z.int(),
});
export type Invitation = z.output<typeof invitationSchema>;

/** A new invitation with its token. The token is never shown again: the node stores only its digest. */
export const createdInvitationSchema = invitationSchema
  .extend({ token: z.string() })
  .meta({ id: 'CreatedInvitation' });
export type CreatedInvitation = z.output<typeof createdInvitationSchema>;

/** The preferences of the desktop app on this machine. They are stored outside the archive. */
export const desktopPreferencesSchema = z.strictObject({
  /** Whether the app keeps collecting when the window is closed. */
  keep_running: z.boolean(),
  /** Whether the app starts, without its window, when the person logs in. */
  open_at_login: z.boolean(),
});
export type DesktopPreferences = z.output<typeof desktopPreferencesSchema>;
export const desktopPreferencesChangeSchema = desktopPreferencesSchema.partial();
export type DesktopPreferencesChange = z.output<typeof desktopPreferencesChangeSchema>;

/** The archives that the desktop app knows. */
export interface DesktopArchives {
  /** Why the app opens no other archive from this one, as a sentence; null if it does. */
  fixed: string | null;
  /** The folders of archives that were opened before, the newest first, without the open one. */
  recent: string[];
}

/** Bytes that a move has copied or read back, and their total; 0 while it begins. */
export interface MoveProgress {
  done: number;
  total: number;
}

/** The interface that the desktop app exposes on its window as `strongroomDesktop`. Browsers do not have it. */
export interface DesktopApi {
  readonly platform: string;
  readonly version: string;
  readPreferences(): Promise<DesktopPreferences>;
  changePreferences(change: DesktopPreferencesChange): Promise<DesktopPreferences>;
  /** Opens the data folder in the system's file manager. */
  showDataFolder(): Promise<void>;
  /** Shows the file of the log in the system's file manager. */
  showLog(): Promise<void>;
  readArchives(): Promise<DesktopArchives>;
  /** Shows the system's dialog for a folder; null if it is cancelled. */
  chooseFolder(): Promise<string | null>;
  /** Opens, creates or moves the archive and starts the app again. Returns the sentence of a refusal, or null. */
  openArchive(folder: string): Promise<string | null>;
  createArchive(folder: string): Promise<string | null>;
  moveArchive(folder: string): Promise<string | null>;
  /** Returns null if no move is running. */
  readMoveProgress(): Promise<MoveProgress | null>;
  /** Calls the listener with the path of a page when a menu, the tray or a notification opens one. Returns unsubscribe. */
  onGoTo(listener: (path: string) => void): () => void;
  /** Calls the listener when the menu item “Find” is chosen. Returns unsubscribe. */
  onFind(listener: () => void): () => void;
}
