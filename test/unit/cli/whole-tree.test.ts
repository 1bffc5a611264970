import { expect, it } from 'vitest'
import { answeringClient } from '../../fakes/app-client.ts'
import { wholeTree } from '../../../cli/whole-tree.ts'

const page = (id: string, more: object = {}) => ({ id, runs: [], children: [], ...more })
const run = (id: string) => ({ id })

it('a session is read to its end: its earlier runs, what hangs below them, and the children that were cut short', async () => {
  const answers: Record<string, object> = {
    '/api/sessions/top': page('top', {
      runs: [run('r3')],
      earlier: 'r3',
      children: [page('c3')],
      moreChildren: 'c4',
    }),
    '/api/sessions/top?fromChild=c4': page('top', { children: [page('c4')], moreChildren: 'c5' }),
    '/api/sessions/top?fromChild=c5': page('top', { children: [page('c5')] }),
    '/api/sessions/top?before=r3': page('top', {
      runs: [run('r1'), run('r2')],
      children: [page('c1', { children: [page('d1', { runs: [run('late')], earlier: 'late' })] })],
      moreChildren: 'c2',
    }),
    '/api/sessions/top?before=r3&fromChild=c2': page('top', {
      children: [page('c2', { moreChildren: 'd2' })],
    }),
    '/api/sessions/d1': page('d1', { runs: [run('early'), run('late')] }),
    '/api/sessions/c2': page('c2', { moreChildren: 'd2' }),
    '/api/sessions/c2?fromChild=d2': page('c2', { children: [page('d2')] }),
  }
  const tree = await wholeTree(answeringClient((path) => answers[path]).request, 'top')
  expect(tree).toEqual(
    page('top', {
      runs: [run('r1'), run('r2'), run('r3')],
      children: [
        page('c1', { children: [page('d1', { runs: [run('early'), run('late')] })] }),
        page('c2', { children: [page('d2')] }),
        page('c3'),
        page('c4'),
        page('c5'),
      ],
    }),
  )
})
