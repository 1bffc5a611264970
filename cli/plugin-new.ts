// isola plugin new: a folder with a plugin that works.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'

const title = (id: string) => id.charAt(0).toUpperCase() + id.slice(1).replaceAll('-', ' ')

const head = (id: string, description: string) => `id: ${id}
name: ${title(id)}
version: 0.1.0
api: '>=1.0 <2.0'
entrypoint: main.ts
description: ${description}
`

interface Kind {
  readonly yaml: (id: string) => string
  readonly main: () => string
  readonly test: () => string
  readonly more?: Readonly<Record<string, string>>
  readonly about: string
}

const kinds: Readonly<Record<'tool' | 'agent' | 'hook', Kind>> = {
  tool: {
    yaml: (
      id,
    ) => `${head(id, 'Greets people.')}natural_language_description: Use when a person should be greeted by name.
contributes:
  tools:
    - name: greet
      description: Greets a person by name.
      input_schema:
        type: object
        properties:
          name: { type: string, minLength: 1 }
        required: [name]
        additionalProperties: false
      annotations: { readOnlyHint: true }
`,
    main: () => `import type { Plugin } from 'isola/plugin'
import type { Inputs } from './types/inputs.ts'

const register: Plugin<Inputs> = () => ({
  tools: {
    async greet({ name }) {
      return { greeting: \`Hello, \${name}!\` }
    },
  },
})
export default register
`,
    test: () => `import { expect, it, plugin } from 'isola/testing'

it('greets by name', async () => {
  expect(await plugin.call('greet', { name: 'Ada' })).toEqual({ greeting: 'Hello, Ada!' })
})

plugin.conforms('greet', { succeed: { name: 'Ada' }, invalid: { name: '' } })
`,
    about: 'One tool, `greet`.',
  },
  agent: {
    yaml: (
      id,
    ) => `${head(id, 'Answers a task in its own way.')}natural_language_description: Use for tasks that should be repeated back.
agent:
  integration_mode: tool
  model: default
  instructions: prompts/agent.md
`,
    main: () => `import type { Plugin } from 'isola/plugin'

const register: Plugin = () => ({
  agent: {
    async invoke({ task }) {
      return \`You asked: \${task}\`
    },
  },
})
export default register
`,
    test: () => `import { expect, it, plugin } from 'isola/testing'

it('answers its task', async () => {
  expect(await plugin.invoke({ task: 'think' })).toBe('You asked: think')
})
`,
    more: { 'prompts/agent.md': 'You answer the task that you are given.\n' },
    about: 'An agent with code of its own. Without `entrypoint` the prompt alone is the agent.',
  },
  hook: {
    yaml: (id) => `${head(id, 'Keeps tools away from what is private.')}contributes:
  hooks:
    - { on: beforeToolCall, match: '*' }
`,
    main: () => `import type { Plugin } from 'isola/plugin'

const register: Plugin = () => ({
  hooks: {
    async beforeToolCall({ input }) {
      if (JSON.stringify(input).includes('private')) return { veto: 'That is private.' }
    },
  },
})
export default register
`,
    test: () => `import { expect, it, plugin } from 'isola/testing'

it('vetoes what is private', async () => {
  const answer = await plugin.hook('beforeToolCall', { tool: 'kv__get', input: { key: 'private' } })
  expect(answer).toEqual({ veto: 'That is private.' })
})
`,
    about: 'A hook that looks at each tool call before it is made.',
  },
}

const readme = (id: string, about: string) => `# ${title(id)}

${about}

It asks for nothing. What a plugin may ask for is in plugin.yaml under \`grants\`.

    isola plugin types ./${id}
    isola plugin test ./${id}
    isola plugin add ./${id}
    isola plugin grant ${id}
    isola plugin enable ${id}

\`types/\` is written by \`isola plugin types\` from plugin.yaml: run it after a change of a schema. With it the folder
can be checked anywhere: \`npx -p typescript tsc -p .\`
`

const tsconfig = `${JSON.stringify(
  {
    compilerOptions: {
      target: 'es2024',
      lib: ['es2024', 'dom'],
      module: 'preserve',
      moduleResolution: 'bundler',
      strict: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      types: [],
      paths: { 'isola/*': ['./types/*'] },
    },
    include: ['*.ts'],
  },
  null,
  2,
)}\n`

/** Writes the folder. Throws if there is one, or if its name cannot be an id. */
export function scaffold(path: string, kind: keyof typeof kinds): string[] {
  const folder = resolve(path)
  const id = basename(folder)
  if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(id) || id.length > 24)
    throw new Error(
      `${id} cannot be the id of a plugin: lowercase words joined by single hyphens, at most 24 characters.`,
    )
  if (existsSync(folder)) throw new Error(`${path} is there already.`)
  mkdirSync(folder, { recursive: true })
  const { yaml, main, test, more = {}, about } = kinds[kind]
  const files = {
    'plugin.yaml': yaml(id),
    'main.ts': main(),
    'main.test.ts': test(),
    'README.md': readme(id, about),
    'tsconfig.json': tsconfig,
    ...more,
  }
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, name)), { recursive: true })
    writeFileSync(join(folder, name), text)
  }
  return Object.keys(files)
}
