import { PasswordInput, SegmentedControl, TextInput } from '@mantine/core';
import {
  newRepositorySchema,
  type Repository,
  type RepositoryKind,
} from '../../../../shared/node/deposit.ts';
import { DialogForm, rulesOf, useItemForm } from './DialogForm.tsx';

const KINDS: readonly { value: RepositoryKind; label: string }[] = [
  { value: 'invenio', label: 'InvenioRDM (Zenodo)' },
  { value: 'dataverse', label: 'Dataverse' },
];

/** What differs between the kinds: where a token comes from, and where a deposit goes. */
const HINTS: Record<RepositoryKind, { url: string; token: string; community: string; about: string }> = {
  invenio: {
    url: 'https://zenodo.org',
    token: 'Make one in your account there, under Applications, with the right to write and to publish.',
    community: 'Community',
    about: 'The name in its address. Publishing then submits the deposit for its review.',
  },
  dataverse: {
    url: 'https://demo.dataverse.org',
    token: 'Make one in your account there, under API Token.',
    community: 'Collection',
    about: 'The alias in its address. Without one, the root collection.',
  },
};

const EMPTY = { kind: 'invenio' as RepositoryKind, url: '', token: '', community: '' };

function bodyOf({ community, ...values }: typeof EMPTY) {
  const url = values.url.trim();
  return {
    ...values,
    url,
    token: values.token.trim(),
    ...(community.trim() && { community: community.trim() }),
  };
}

interface RepositoryFormProps {
  /** Takes the repository instead of closing the dialog. */
  onSaved?: (repository: Repository) => void;
}

/** The form in a dialog that adds a repository in which packs can be deposited. Its token is never shown again. */
export function RepositoryForm({ onSaved }: RepositoryFormProps) {
  const { form, save } = useItemForm({
    route: 'addRepository',
    initialValues: EMPTY,
    validate: (values) => ({
      ...rulesOf(newRepositorySchema)(bodyOf(values)),
      ...(values.token.trim() === '' && { token: 'Enter the token.' }),
    }),
    request: (values) => ({ body: bodyOf(values) }),
    onSaved,
    staysOpen: onSaved !== undefined,
  });
  const hints = HINTS[form.values.kind];
  return (
    <DialogForm form={form} save={save} submit="Add repository">
      <SegmentedControl aria-label="Kind of repository" data={[...KINDS]} {...form.getInputProps('kind')} />
      <TextInput
        label="Address"
        placeholder={hints.url}
        autoComplete="off"
        spellCheck={false}
        data-autofocus
        {...form.getInputProps('url')}
      />
      <PasswordInput
        label="Token"
        description={`${hints.token} It is kept in the data folder, sent to this address only, and never shown again.`}
        autoComplete="off"
        {...form.getInputProps('token')}
      />
      <TextInput
        label={hints.community}
        description={`${hints.about} Optional.`}
        autoComplete="off"
        spellCheck={false}
        {...form.getInputProps('community')}
      />
    </DialogForm>
  );
}

/** Names a repository: `zenodo.org, sea-level`. */
export function repositoryName({ url, community }: Pick<Repository, 'url' | 'community'>): string {
  const place = url.replace(/^https?:\/\//, '');
  return community === null ? place : `${place}, ${community}`;
}
