import { Button, Group, Radio, Select, Stack } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useState } from 'react';
import type { Deposit, Repository } from '../../../../shared/node/deposit.ts';
import { doiUrl } from '../../../../shared/values/doi.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { HealthLine, TimeText } from '../../components/data/Values.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { ItemButton } from '../../components/forms/buttons.tsx';
import {
  DialogForm,
  FormDialog,
  Question,
  useFormDialog,
  useItemForm,
} from '../../components/forms/DialogForm.tsx';
import { RepositoryForm, repositoryName } from '../../components/forms/RepositoryDialog.tsx';
import { Section } from '../../components/layout/Page.tsx';
import { countOf } from '../../format.ts';
import { useReloadAfterJobs } from '../../state/jobs.ts';

/** A link to what a DOI names. */
export function DoiLink({ doi }: { doi: string }) {
  return (
    <a href={doiUrl(doi)} target="_blank" rel="noopener noreferrer" className="wrap-anywhere">
      {doi}
    </a>
  );
}

const SHOWN = 50;
const DEPOSIT_JOBS = ['deposit'] as const;

/** The deposits of a pack, with what the owner can do. Nothing if there are none. */
export function PackDeposits({ pack }: { pack: string }) {
  useReloadAfterJobs(DEPOSIT_JOBS, 'deposit');
  const answer = useCall('listDeposits', { query: { pack, limit: SHOWN } });
  if (answer.error) return <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />;
  if (!answer.data || answer.data.items.length === 0) return null;
  return (
    <Section title="Deposits">
      <ul className="plain stack gap-4">
        {answer.data.items.map((deposit) => (
          <DepositItem key={deposit.id} deposit={deposit} />
        ))}
      </ul>
    </Section>
  );
}

const HEALTH = { sending: 'idle', draft: 'idle', published: 'well', failed: 'bad' } as const;

function DepositItem({ deposit }: { deposit: Deposit }) {
  const { pack, repository, repository_url, state, url, in_review, updated_at, files, compared } = deposit;
  const place = repository_url.replace(/^https?:\/\//, '');
  const [isPublishing, publishing] = useDisclosure();
  const again = useSave('deposit', () => ({ body: { pack, repository } }));
  return (
    <li className="card stack gap-2">
      <h3 className="wrap-anywhere">{place}</h3>
      <HealthLine health={HEALTH[state]}>
        {stateWords(deposit)} <TimeText at={deposit.published_at ?? updated_at} />
      </HealthLine>
      {deposit.error && <p className="wrap-anywhere">{deposit.error}</p>}
      <DoiLine deposit={deposit} />
      {files > 0 && state !== 'sending' && (
        <p className="muted small">
          {countOf(files, 'file')}, {compared} with the right checksum there
        </p>
      )}
      {again.error && <ErrorNote error={again.error} />}
      <Group gap="xs">
        {url && (
          <Button
            component="a"
            href={url}
            target="_blank"
            rel="noopener noreferrer"
            variant="default"
            size="compact-sm"
          >
            Open in the repository
          </Button>
        )}
        {state === 'failed' && (
          <ItemButton label="Continue" of={place} loading={again.isPending} onClick={() => again.mutate()} />
        )}
        {state === 'draft' && !in_review && (
          <ItemButton label="Publish" of={place} onClick={publishing.open} />
        )}
        {state === 'draft' && (
          <ItemButton
            label="Check again"
            of={place}
            loading={again.isPending}
            onClick={() => again.mutate()}
          />
        )}
      </Group>
      {isPublishing && <PublishDeposit deposit={deposit} onClose={publishing.close} />}
    </li>
  );
}

function PublishDeposit({ deposit, onClose }: { deposit: Deposit; onClose: () => void }) {
  const { pack, repository, repository_url } = deposit;
  const publication = useSave('deposit', () => ({ body: { pack, repository, publish: true } }), {
    onSaved: onClose,
  });
  return (
    <Question title="Publish this deposit?" answer="Publish" save={publication} onClose={onClose}>
      Everybody can read it at <span className="wrap-anywhere">{repository_url}</span>, and its DOI stays.
      This cannot be undone. Where a community was named, it is submitted for its review.
    </Question>
  );
}

function stateWords({ state, in_review }: Deposit): string {
  if (state === 'sending') return 'Being sent, begun';
  if (state === 'draft') return in_review ? 'Submitted to the community' : 'Sent as a draft';
  return state === 'published' ? 'Published' : 'Failed';
}

/** The DOI: a link once it can be resolved. */
function DoiLine({ deposit: { doi, state } }: { deposit: Deposit }) {
  if (doi === null) return null;
  return (
    <p className="wrap-anywhere">
      DOI: {state === 'published' ? <DoiLink doi={doi} /> : <span className="mono small">{doi}</span>}
      {state !== 'published' && <span className="muted small"> (reserved: it resolves once published)</span>}
    </p>
  );
}

interface DepositDialogProps {
  pack: string;
  opened: boolean;
  onClose: () => void;
}

/** Chooses a repository, or adds one, and deposits a pack there. */
export function DepositDialog({ opened, onClose, ...props }: DepositDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Deposit in a repository" size="lg">
      <DepositSteps {...props} />
    </FormDialog>
  );
}

const SHOWN_REPOSITORIES = 200;
const ANOTHER = 'another';

function DepositSteps({ pack }: Pick<DepositDialogProps, 'pack'>) {
  const { onDirty } = useFormDialog();
  const answer = useCall('listRepositories', { query: { limit: SHOWN_REPOSITORIES } });
  const [isAdding, setIsAdding] = useState(false);
  const [added, setAdded] = useState<Repository>();
  if (answer.error) return <ErrorNote error={answer.error} onRetry={() => void answer.refetch()} />;
  if (!answer.data) return <p className="muted">Loading…</p>;
  const { items } = answer.data;
  const known = added && !items.some(({ id }) => id === added.id) ? [...items, added] : items;
  if (isAdding || known.length === 0) {
    const onSaved = (repository: Repository) => {
      setAdded(repository);
      setIsAdding(false);
      onDirty(false);
    };
    return (
      <Stack gap="md">
        {known.length === 0 && <p>Add the repository first, with a token of your account there.</p>}
        <RepositoryForm onSaved={onSaved} />
      </Stack>
    );
  }
  return (
    <DepositForm
      key={added?.id}
      pack={pack}
      repositories={known}
      chosen={added?.id ?? known[0]?.id ?? ''}
      onAnother={() => setIsAdding(true)}
    />
  );
}

interface DepositFormProps {
  pack: string;
  repositories: readonly Repository[];
  chosen: string;
  onAnother: () => void;
}

function DepositForm({ pack, repositories, chosen, onAnother }: DepositFormProps) {
  const { form, save } = useItemForm({
    route: 'deposit',
    initialValues: { repository: chosen, publish: 'draft' },
    request: ({ repository, publish }) => ({ body: { pack, repository, publish: publish === 'publish' } }),
  });
  const { community } = repositories.find(({ id }) => id === form.values.repository) ?? { community: null };
  const isReviewed =
    community !== null && repositories.find(({ id }) => id === form.values.repository)?.kind === 'invenio';
  const choose = form.getInputProps('repository').onChange as (id: string) => void;
  return (
    <DialogForm
      form={form}
      save={save}
      submit={form.values.publish === 'publish' ? 'Deposit and publish' : 'Deposit'}
    >
      <p className="small">
        The record of the pack and its files are sent there. The node compares the checksums that the
        repository gives back.
      </p>
      <Select
        label="Repository"
        data={[
          ...repositories.map((each) => ({ value: each.id, label: repositoryName(each) })),
          { value: ANOTHER, label: 'Another repository…' },
        ]}
        allowDeselect={false}
        value={form.values.repository}
        onChange={(value) => (value === ANOTHER ? onAnother() : value !== null && choose(value))}
      />
      <Radio.Group {...form.getInputProps('publish')} label="Then">
        <Stack gap="xs" mt="xs">
          <Radio
            value="draft"
            label="Keep it as a draft there"
            description="You look at it on the site, and publish it there or here."
          />
          <Radio
            value="publish"
            label={isReviewed ? 'Submit it to the community' : 'Publish it'}
            description={
              isReviewed
                ? 'It is published when the community accepts it.'
                : 'Everybody can read it, and its DOI stays. This cannot be undone.'
            }
          />
        </Stack>
      </Radio.Group>
    </DialogForm>
  );
}
