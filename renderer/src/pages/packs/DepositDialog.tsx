import { Radio, Select, Stack } from '@mantine/core';
import { useForm } from '@mantine/form';
import { useState } from 'react';
import type { Repository } from '../../../../shared/node/deposit.ts';
import { useCall, useSave } from '../../api/useCall.ts';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogForm, FormDialog, type FormDialogControls } from '../../components/forms/DialogForm.tsx';
import { RepositoryForm, repositoryName } from '../../components/forms/RepositoryDialog.tsx';

interface DepositDialogProps {
  pack: string;
  opened: boolean;
  onClose: () => void;
}

/** Chooses a repository, or adds one, and deposits a pack there. */
export function DepositDialog({ opened, onClose, ...props }: DepositDialogProps) {
  return (
    <FormDialog opened={opened} onClose={onClose} title="Deposit in a repository" size="lg">
      {(controls) => <DepositSteps {...props} {...controls} />}
    </FormDialog>
  );
}

type StepProps = FormDialogControls & Pick<DepositDialogProps, 'pack'>;

const SHOWN = 200;
const ANOTHER = 'another';

function DepositSteps(props: StepProps) {
  const answer = useCall('listRepositories', { query: { limit: SHOWN } });
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
      props.onDirty(false);
    };
    return (
      <Stack gap="md">
        {known.length === 0 && <p>Add the repository first, with a token of your account there.</p>}
        <RepositoryForm {...props} onSaved={onSaved} />
      </Stack>
    );
  }
  return (
    <DepositForm
      key={added?.id}
      {...props}
      repositories={known}
      chosen={added?.id ?? known[0]?.id ?? ''}
      onAnother={() => setIsAdding(true)}
    />
  );
}

interface DepositFormProps extends StepProps {
  repositories: readonly Repository[];
  chosen: string;
  onAnother: () => void;
}

function DepositForm({ pack, repositories, chosen, onAnother, onDone, ...controls }: DepositFormProps) {
  const form = useForm({ initialValues: { repository: chosen, publish: 'draft' } });
  const save = useSave(
    'deposit',
    ({ repository, publish }: typeof form.values) => ({
      body: { pack, repository, publish: publish === 'publish' },
    }),
    { onSaved: onDone },
  );
  const { community } = repositories.find(({ id }) => id === form.values.repository) ?? { community: null };
  const isReviewed =
    community !== null && repositories.find(({ id }) => id === form.values.repository)?.kind === 'invenio';
  const choose = form.getInputProps('repository').onChange as (id: string) => void;
  return (
    <DialogForm
      form={form}
      controls={controls}
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
