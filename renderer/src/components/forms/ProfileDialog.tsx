import { Textarea, TextInput } from '@mantine/core';
import { notifications } from '@mantine/notifications';
import { type ReactNode, useState } from 'react';
import {
  type KeptProfile,
  MAX_PROFILE_BYTES,
  type Profile,
  profileContentOf,
} from '../../../../shared/collection/profile.ts';
import { fieldErrors } from '../../api/client.ts';
import { countOf, formatBytes } from '../../format.ts';
import { DialogForm, FormDialog, useItemForm } from './DialogForm.tsx';
import { FileDropField } from './FileDropField.tsx';

interface ProfileDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The profile whose cookies are replaced; without it, a new one is made. */
  profile?: Profile | undefined;
  /** The site of a new profile, as suggested. */
  site?: string;
  onSaved?: (profile: KeptProfile) => void;
}

/** Makes a profile of cookies that are pasted or dropped, or logs in again. What it keeps is never shown. */
export function ProfileDialog({ opened, onClose, profile, site = '', onSaved }: ProfileDialogProps) {
  const title = profile ? `Log in again: ${profile.name}` : 'New profile';
  return (
    <FormDialog opened={opened} onClose={onClose} title={title} size="lg">
      {profile ? (
        <ReplaceForm profile={profile} onSaved={onSaved} />
      ) : (
        <NewForm site={site} onSaved={onSaved} />
      )}
    </FormDialog>
  );
}

type FormProps = Pick<ProfileDialogProps, 'onSaved'>;

function NewForm({ site, onSaved }: FormProps & { site: string }) {
  const { form, save } = useItemForm({
    route: 'addProfile',
    initialValues: { name: '', site, content: '' },
    validate: ({ site: of, content }) => ({
      ...(of.trim() === '' && { site: 'Enter the site, such as example.org.' }),
      ...contentError(content),
    }),
    request: ({ name, site: of, content }) => ({
      body: { name, site: of.trim(), ...profileContentOf(content) },
    }),
    onSaved: (kept) => {
      sayLeftOut(kept);
      onSaved?.(kept);
    },
    errorsOf,
  });
  return (
    <DialogForm form={form} save={saidAtFields(form, save)} submit="Keep profile">
      <TextInput
        label="Site"
        description="The cookies are sent to this site and to nothing else."
        placeholder="example.org"
        autoComplete="off"
        spellCheck={false}
        data-autofocus={site === '' || undefined}
        {...form.getInputProps('site')}
      />
      <TextInput
        label="Name"
        description="To tell accounts apart. Default: the site."
        {...form.getInputProps('name')}
      />
      <Content {...form.getInputProps('content')} />
    </DialogForm>
  );
}

function ReplaceForm({ profile, onSaved }: FormProps & { profile: Profile }) {
  const { form, save } = useItemForm({
    route: 'changeProfile',
    initialValues: { content: '' },
    validate: ({ content }) => contentError(content),
    request: ({ content }) => ({ params: { id: profile.id }, body: profileContentOf(content) }),
    onSaved: (kept) => {
      sayLeftOut(kept);
      onSaved?.(kept);
    },
    // The site is not asked for here.
    errorsOf: (error) => {
      const { site, ...others } = errorsOf(error);
      return { ...others, ...(site && { content: site }) };
    },
  });
  return (
    <DialogForm form={form} save={saidAtFields(form, save)} submit="Replace">
      <p className="small">
        Log in to <strong>{profile.site}</strong> in your browser, then export its cookies again. They take
        the place of those that are kept.
      </p>
      <Content {...form.getInputProps('content')} />
    </DialogForm>
  );
}

/** What is said at a field is not said again below the form. */
function saidAtFields<Save extends { error: Error | null }>(
  { errors }: { errors: object },
  save: Save,
): Save | (Omit<Save, 'error'> & { error: null }) {
  return Object.keys(errors).length > 0 ? { ...save, error: null } : save;
}

/** The errors that the node found. What is wrong with the file, and what is not at a field, is shown at the file. */
function errorsOf(error: unknown): Record<string, string> {
  const { site, name, netscape, storage_state, cookies, ...others } = fieldErrors(error);
  const content = netscape ?? storage_state ?? cookies ?? Object.values(others)[0];
  return { ...(site && { site }), ...(name && { name }), ...(content && { content }) };
}

function contentError(content: string): Record<string, string> {
  if (content.trim() === '') return { content: 'Drop a file, or paste its content.' };
  if (content.length > MAX_PROFILE_BYTES) return { content: `At most ${formatBytes(MAX_PROFILE_BYTES)}.` };
  try {
    profileContentOf(content);
    return {};
  } catch (error) {
    return { content: error instanceof Error ? error.message : String(error) };
  }
}

function sayLeftOut({ left_out }: KeptProfile): void {
  if (left_out === 0) return;
  const message = `${countOf(left_out, 'cookie or item was', 'cookies and items were')} left out: of another site, expired or not valid.`;
  notifications.show({ message });
}

interface ContentProps {
  value?: string;
  error?: ReactNode;
  onChange: (content: string) => void;
}

/** A file of cookies, dropped or pasted. */
function Content({ value = '', error, onChange }: ContentProps) {
  const [file, setFile] = useState<File | null>(null);
  const take = async (chosen: File) => {
    setFile(chosen);
    // A larger file is refused by its size.
    onChange(await chosen.slice(0, MAX_PROFILE_BYTES + 1).text());
  };
  return (
    <>
      <FileDropField
        label="Cookies"
        file={file}
        endings="cookies.txt, or a storage state of Playwright"
        accept=".txt,.json,text/plain,application/json"
        error={error}
        onFile={(chosen) => void take(chosen)}
      >
        {!file && (
          <Textarea
            w="100%"
            aria-label="Paste the content of the file"
            placeholder="or paste its content here"
            maxRows={6}
            autoComplete="off"
            spellCheck={false}
            value={value}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )}
      </FileDropField>
      <p className="small muted">
        Whoever has these cookies can act in your name. Only those of this site are kept, encrypted on this
        machine. They are never shown again, and are in no copy, export, dump or log. What is got with them is
        withheld from visitors.
      </p>
    </>
  );
}
