import { defined } from '../src/contracts/defined.ts'
import type { Client, Reply, Request } from '../src/client/client.ts'

export type Tree = Reply<'GET /api/sessions/:id'>
type Page = NonNullable<Request<'GET /api/sessions/:id'>['query']>

/** A session with all its runs and what hangs below them: a long one comes in pages, the last runs first. */
export async function wholeTree(request: Client['request'], id: string): Promise<Tree> {
  const ask = (query: Page) => request('GET /api/sessions/:id', { params: { id }, query })
  const first = await ask({})
  let runs: Tree['runs'] = []
  let children: Tree['children'] = []
  let before: string | undefined
  for (let page = first; ;) {
    const below = [...page.children]
    for (let more = page.moreChildren; more !== undefined;) {
      const next = await ask({ ...defined({ before }), fromChild: more })
      below.push(...next.children)
      more = next.moreChildren
    }
    runs = [...page.runs, ...runs]
    children = [...below, ...children]
    before = page.earlier
    if (before === undefined) break
    page = await ask({ before })
  }
  const { earlier: _earlier, moreChildren: _more, ...tree } = first
  const whole = []
  for (const child of children) whole.push(await completed(request, child))
  return { ...tree, runs, children: whole }
}

/** A child that is long is cut short where it hangs. */
async function completed(request: Client['request'], child: Tree): Promise<Tree> {
  if (child.earlier !== undefined || child.moreChildren !== undefined)
    return wholeTree(request, child.id)
  const children = []
  for (const one of child.children) children.push(await completed(request, one))
  return { ...child, children }
}

/** The sub-agents that a run called, with what hangs below them. */
export const childrenOf = (tree: Tree | undefined, run: string) =>
  (tree?.children ?? []).filter(({ parent }) => parent === undefined || parent.run === run)

/** Every session of a tree, the root first. */
export const flatten = (tree: Tree): Tree[] => [tree, ...tree.children.flatMap(flatten)]
