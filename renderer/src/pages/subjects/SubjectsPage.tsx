import { Button, Textarea, TextInput } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { Link, useNavigate } from 'react-router';
import { newNodeSchema, type TreeNode } from '../../../../shared/archive/study.ts';
import { useCall } from '../../api/useCall.ts';
import { EmptyState, ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { DialogForm, FormDialog, useItemForm } from '../../components/forms/DialogForm.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { countOf } from '../../format.ts';
import { useMayContribute } from '../../state/session.ts';
import classes from './Subjects.module.css';

/** The tree of subjects. */
export default function SubjectsPage() {
  const mayContribute = useMayContribute();
  const tree = useCall('readTree');
  const [isCreating, creating] = useDisclosure(false);
  const create = mayContribute && (
    <Button onClick={creating.open} leftSection={<IconPlus size={17} aria-hidden />}>
      New subject
    </Button>
  );
  return (
    <Page
      title="Subjects"
      lead="What studies and packs are filed under. A subject can have others below it."
      actions={create}
    >
      <NewSubjectDialog opened={isCreating} onClose={creating.close} />
      {tree.error && <ErrorNote error={tree.error} onRetry={() => void tree.refetch()} />}
      {tree.data?.nodes.length === 0 && (
        <EmptyState title="No subjects yet" action={create}>
          A subject has a path, such as <code>biology/ecology/birds</code>. Studies and packs are filed under
          subjects. The counts of a subject include everything below it.
        </EmptyState>
      )}
      {tree.data && tree.data.nodes.length > 0 && (
        <div className={`${classes.tree} sheet`}>
          <Branch nodes={tree.data.nodes} />
        </div>
      )}
    </Page>
  );
}

function Branch({ nodes }: { nodes: readonly TreeNode[] }) {
  return (
    <ul className="plain">
      {nodes.map((node) => (
        <li key={node.path}>
          <div className={`${classes.node} cluster baseline gap-3`}>
            <Link to={`/nodes/${node.path}`} className={`${classes.title} quiet-link medium`}>
              {node.title}
            </Link>
            <span className="mono small muted wrap-anywhere">{node.path}</span>
            <span className="push muted small numeric">
              {countOf(node.counts.studies, 'study', 'studies')}, {countOf(node.counts.packs, 'pack')}
            </span>
          </div>
          {node.children.length > 0 && <Branch nodes={node.children} />}
        </li>
      ))}
    </ul>
  );
}

interface NewNodeDialogProps {
  opened: boolean;
  onClose: () => void;
  /** The path of the parent subject; undefined for a top-level subject. */
  parent?: string;
}

/** Creates a subject and opens its page. */
export function NewSubjectDialog({ opened, onClose, parent }: NewNodeDialogProps) {
  return (
    <FormDialog
      opened={opened}
      onClose={onClose}
      title={parent ? `New subject below ${parent}` : 'New subject'}
    >
      <NewNodeForm parent={parent} />
    </FormDialog>
  );
}

function NewNodeForm({ parent }: Pick<NewNodeDialogProps, 'parent'>) {
  const navigate = useNavigate();
  const { form, save } = useItemForm({
    route: 'createNode',
    initialValues: { path: parent ? `${parent}/` : '', title: '', description: '' },
    validate: newNodeSchema,
    request: (values) => ({ body: values }),
    onSaved: ({ path }) => navigate(`/nodes/${path}`),
  });
  /** The last part of the path follows the title until the path is edited. */
  const setTitle = (title: string) => {
    const prefix = parent ? `${parent}/` : '';
    if (!form.isDirty('path') || form.values.path === prefix + pathStepOf(form.values.title)) {
      form.setFieldValue('path', prefix + pathStepOf(title));
    }
    form.setFieldValue('title', title);
  };
  return (
    <DialogForm form={form} save={save} submit="Create subject">
      <TextInput
        label="Title"
        data-autofocus
        {...form.getInputProps('title')}
        onChange={(event) => setTitle(event.currentTarget.value)}
      />
      <TextInput
        label="Path"
        description="Lowercase letters, digits and hyphens. Use a slash for each level. It cannot be changed later."
        className="mono"
        {...form.getInputProps('path')}
      />
      <Textarea label="Description" maxRows={10} {...form.getInputProps('description')} />
    </DialogForm>
  );
}

/** Converts a title to a path segment: `Forêt & feu` to `foret-feu`. */
function pathStepOf(title: string): string {
  return title
    .normalize('NFD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '')
    .slice(0, 64);
}
