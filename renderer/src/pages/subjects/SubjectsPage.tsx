import { Button } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconPlus } from '@tabler/icons-react';
import { Link } from 'react-router';
import type { TreeNode } from '../../../../shared/archive/treeNode.ts';
import { useCall } from '../../api/useCall.ts';
import { EmptyState } from '../../components/feedback/EmptyState.tsx';
import { ErrorNote } from '../../components/feedback/ErrorNote.tsx';
import { Page } from '../../components/layout/Page.tsx';
import { countOf } from '../../format/size.ts';
import { useMayContribute } from '../../state/session.ts';
import { NewSubjectDialog } from './NewSubjectDialog.tsx';
import classes from './SubjectsPage.module.css';

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
        <div className={classes.tree}>
          <Branch nodes={tree.data.nodes} />
        </div>
      )}
    </Page>
  );
}

function Branch({ nodes }: { nodes: readonly TreeNode[] }) {
  return (
    <ul>
      {nodes.map((node) => (
        <li key={node.path}>
          <div className={classes.node}>
            <Link to={`/nodes/${node.path}`} className={classes.title}>
              {node.title}
            </Link>
            <span className="mono small muted wrap-anywhere">{node.path}</span>
            <span className={`${classes.counts} muted small numeric`}>
              {countOf(node.counts.studies, 'study', 'studies')}, {countOf(node.counts.packs, 'pack')}
            </span>
          </div>
          {node.children.length > 0 && <Branch nodes={node.children} />}
        </li>
      ))}
    </ul>
  );
}
