import { z } from 'zod';
import { namedObject } from '../values/list.ts';

/** An e-mail address as SMTP takes it, in ASCII. The host may have no dot: mail servers of a local network often have none. */
export const mailAddressSchema = z
  .string()
  .max(254, 'At most 254 characters.')
  .regex(/^[\w.!#$%&'*+/=?^`{|}~-]+@[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?$/, 'Enter an e-mail address.')
  .meta({ format: 'email' });

/** `address`, or `Name <address>`. A line break in it would add headers to the message. */
const senderSchema = z
  .string()
  .max(400, 'At most 400 characters.')
  .regex(
    /^([^\p{C}<>"@,;:\\]*<[^<>\s]+@[^<>\s]+>|[^<>\s]+@[^<>\s]+)$/u,
    'Enter an e-mail address, or a name and the address in angle brackets.',
  )
  .refine(
    (sender) => mailAddressSchema.safeParse(/<([^>]*)>$/.exec(sender)?.[1] ?? sender).success,
    'Enter an e-mail address, or a name and the address in angle brackets.',
  );

const server = {
  host: z
    .string()
    .max(255)
    .regex(/^[A-Za-z0-9._:-]+$/, 'Enter the name or the IP address of the mail server.'),
  port: z.int().min(1, 'At least 1.').max(65_535, 'At most 65535.'),
  tls: z.enum(['none', 'starttls', 'tls']).meta({
    description:
      '`tls`: encrypted from the first byte (usually port 465). `starttls`: encrypted before anything else is sent (usually port 587). `none`: not encrypted, for a server on this machine or in this network.',
  }),
  user: z.string().min(1, 'Enter the user name.').max(500).optional(),
  from: senderSchema.meta({ description: 'The sender: an address, or `Name <address>`.' }),
};

/** The mail server by which alerts are sent, without its password. */
export const smtpSchema = namedObject('Smtp', {
  ...server,
  has_password: z.boolean().meta({ description: 'Whether a password is kept. It is never shown.' }),
});
export type Smtp = z.output<typeof smtpSchema>;

/** A change of the mail server. Without `password`, the kept one stays if `host` and `user` are the same. */
export const smtpChangeSchema = z
  .strictObject({
    ...server,
    password: z
      .string()
      .min(1, 'Enter the password.')
      .max(1_000, 'At most 1000 characters.')
      .optional()
      .meta({ writeOnly: true }),
    has_password: z
      .boolean()
      .optional()
      .meta({ description: 'Ignored, so that what was read can be sent back.' }),
  })
  .refine(({ user, password }) => user !== undefined || password === undefined, {
    message: 'A password needs a user name.',
    path: ['user'],
  })
  .meta({ id: 'SmtpChange' });
export type SmtpChange = z.output<typeof smtpChangeSchema>;
