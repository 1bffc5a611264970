// The Worker of `isola plugin test`: it runs the tests of one folder and answers how they went. It has no network and
// no settings (cli/sandbox.ts), so that it does not matter who wrote them.
import { startTests } from 'vitest/internal/browser'

const config: Parameters<typeof startTests>[1]['config'] = {
  root: '/',
  setupFiles: [],
  name: undefined,
  passWithNoTests: true,
  testNamePattern: undefined,
  allowOnly: true,
  sequence: { seed: 0, hooks: 'stack', setupFiles: 'list' },
  chaiConfig: undefined,
  maxConcurrency: 5,
  testTimeout: 60_000,
  hookTimeout: 60_000,
  retry: 0,
  includeTaskLocation: false,
  tags: [],
  tagsFilter: undefined,
  strictTags: false,
}

type Files = Awaited<ReturnType<typeof startTests>>
type Task = Files[number]['tasks'][number]

interface Outcome {
  readonly name: string
  readonly state: string
  readonly errors: readonly { message: string; diff?: string; stack?: string }[]
}

const noNetwork =
  'There is no network in tests. Fake what a host answers: plugin.call(tool, input, { fetch: async (url) => new Response() }).'

/** The border is that there is no network; this only says what to do about it. */
globalThis.fetch = async (input) => {
  throw new Error(`${input instanceof Request ? input.url : String(input)}: ${noNetwork}`)
}

/** Where vitest keeps what belongs to a run: `expect` and `vi` look there. */
Reflect.set(globalThis, '__vitest_worker__', {
  config: { ...config, expect: {}, snapshotOptions: { expand: false } },
  providedContext: {},
})

function outcomes(tasks: readonly Task[], above: readonly string[] = []): readonly Outcome[] {
  return tasks.flatMap((task) => {
    const names = [...above, task.name]
    const errors = (task.result?.errors ?? []).map(({ message, diff, stack }) => ({
      message,
      ...(diff !== undefined && { diff }),
      ...(stack !== undefined && { stack }),
    }))
    const own = { name: names.join(' > '), state: task.result?.state ?? task.mode, errors }
    if (task.type === 'test') return [own]
    // A group is worth a line if it could not even be collected, or one of its hooks failed.
    return [...outcomes(task.tasks, names), ...(errors.length > 0 ? [own] : [])]
  })
}

export default {
  async fetch() {
    const files = await startTests(['suite'], { config, importFile: () => import('./suite.ts') })
    const all = files.flatMap((file) => [
      ...(file.result?.errors ?? []).map(({ message, stack = '' }) => ({
        name: 'the test files',
        state: 'fail',
        errors: [{ message, stack }],
      })),
      ...outcomes(file.tasks),
    ])
    return Response.json(all)
  },
} satisfies ExportedHandler
