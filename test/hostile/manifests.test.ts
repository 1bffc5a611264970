import { describe, expect, it } from 'vitest'
import { bundleCaps } from '#runtime/catalog/types/plugin-upload.ts'
import { readUpload } from '../../src/features/plugins/admission/read-upload.ts'
import { folder, manifestText, uploadDeps } from '../fakes/uploads.ts'
import { zipOf } from '../fakes/zip.ts'

const bomb = [
  'a: &a [x,x,x,x,x,x,x,x,x]',
  ...'bcdefghi'
    .split('')
    .map((name, index) => `${name}: &${name} [${`*${'abcdefgh'[index]},`.repeat(9)}]`),
].join('\n')

const send = (yaml: string) =>
  readUpload({ zip: zipOf({ ...folder, 'plugin.yaml': yaml }) }, uploadDeps())

describe('T26: a plugin.yaml is refused with its place', () => {
  it.each([
    ['a bomb of aliases', `${manifestText}config: {}\n${bomb}`, /aliases/],
    ['an alias that contains itself', `${manifestText}config: &a { b: *a }`, /contains itself/],
    [
      'an alias of nothing',
      `${manifestText}config: { b: *nothing }`,
      /plugin\.yaml:9:14: .*alias of nothing/,
    ],
    ['a key twice', `${manifestText}name: Other\n`, /plugin\.yaml:9:1: .*unique/i],
    ['a key twice, quoted', `${manifestText}"name": Other\n`, /unique/i],
    [
      'a key twice, in a grant',
      `${manifestText}grants: { storage: 1kb, storage: 9mb }\n`,
      /unique/i,
    ],
    ['__proto__', `${manifestText}config: { __proto__: { admin: true } }\n`, /__proto__/],
    ['__proto__ at the top', `${manifestText}__proto__: { enabled: true }\n`, /__proto__/],
    ['__proto__, quoted', `${manifestText}config: { "__proto__": 1 }\n`, /__proto__/],
    ['__proto__, escaped', `${manifestText}config: { "\\u005f_proto__": 1 }\n`, /__proto__/],
    ['a merge key', `${manifestText}config: { <<: { a: 1 } }\nx: 1\n`, /x/],
    [
      'a tag of JavaScript',
      `${manifestText}config: { a: !!js/function "() => 1" }\n`,
      /plugin\.yaml:9:\d+: .*tag/i,
    ],
    ['a tag of its own', `${manifestText}config: { a: !secret X }\n`, /tag/i],
    ['binary', `${manifestText}config: { a: !!binary aGk= }\n`, /tag/i],
    ['a key that is a list', `${manifestText}config: { [a]: 1 }\n`, /key/i],
    ['two documents', `${manifestText}---\nid: other\n`, /document/i],
    ['a directive of another YAML', `%YAML 1.1\n---\n${manifestText}`, /./],
    ['a tab as indentation', 'id:\n\tx: 1\n', /plugin\.yaml:2:1: .*tab/i],
    ['brackets without end', `${manifestText}config: ${'['.repeat(100_000)}`, /deeper than 64/],
    ['braces without end', `${manifestText}config: ${'{a: '.repeat(50_000)}`, /deeper than 64/],
    ['dashes without end', `${manifestText}config:\n ${'- '.repeat(50_000)}x`, /deeper than 64/],
    [
      'indentation without end',
      `${manifestText}config:\n${Array.from({ length: 400 }, (_unused, depth) => `${' '.repeat(depth + 1)}a:`).join('\n')}`,
      /deeper than 64/,
    ],
    [
      'too much text',
      `${manifestText}# ${'x'.repeat(bundleCaps.maxManifestChars)}`,
      /longer than 262144/,
    ],
    ['a list', '- id: x', /./],
    ['a text', 'just words', /./],
    ['nothing', '', /./],
  ] as const)('%s', async (_name, yaml, message) => {
    await expect(send(yaml)).rejects.toMatchObject({
      code: 'plugin_manifest_invalid',
      message: expect.stringMatching(message) as unknown,
    })
  })
})

const manifest = {
  id: 'greeter',
  name: 'Greeter',
  version: '1.0.0',
  entrypoint: 'main.ts',
  description: 'Greets.',
}
const bundleOf = (more: Record<string, unknown>) => ({
  manifest: { ...manifest, ...more },
  code: 'export default () => ({})',
  files: {},
})

describe('T26: a manifest is refused', () => {
  it.each([
    ['that says how far it is trusted', { trust: 'trusted' }, /trust/],
    ['that says its tier', { tier: 'builtin' }, /tier/],
    ['that says who signed it', { signature: 'x', signer: 'isola' }, /sign/],
    ['that says it is built in', { builtin: true }, /builtin/],
    ['that brings its own hash', { hash: '0'.repeat(64) }, /hash/],
    ['that says what it was granted', { granted: { network: [] } }, /granted/],
    ['that brings its own permit', { permit: {}, grant_epoch: 9 }, /permit/],
    ['that asks for a grant there is not', { grants: { shell: true } }, /grants: .*shell/],
    [
      'that asks for every method',
      { grants: { network: [{ host: 'a.example', methods: ['*'] }] } },
      /methods/,
    ],
    ['that asks for storage without end', { grants: { storage: 'unlimited' } }, /storage/],
    ['whose id has a capital', { id: 'Greeter' }, /id: .*lowercase/],
    ['whose id has a letter of another alphabet', { id: 'gr\u0435eter' }, /id: .*lowercase/],
    ['whose id has two underscores', { id: 'kv__get' }, /id: .*lowercase/],
    ['whose id is a path', { id: '../kv' }, /id: .*lowercase/],
    ['whose id is too long', { id: 'a'.repeat(25) }, /id: /],
    ['whose id is no text', { id: ['greeter'] }, /id: /],
    ['whose version is no version', { version: 'latest' }, /version: .*semantic/],
    ['whose version is a range', { version: '>=1.0.0' }, /version: .*semantic/],
    [
      'whose tool has another plugin’s prefix',
      {
        contributes: {
          tools: [
            { name: 'isola__call', description: 'x' },
            { name: 'Kv', description: 'x' },
          ],
        },
      },
      /tools/,
    ],
    [
      'that has a tool twice',
      {
        contributes: {
          tools: [
            { name: 'a', description: 'x' },
            { name: 'a', description: 'y' },
          ],
        },
      },
      /declared twice/,
    ],
    [
      'that names a prompt elsewhere',
      { agent: { integration_mode: 'tool', model: 'm', instructions: '../../.dev.vars' } },
      /no file/,
    ],
  ] as const)('%s', async (_name, more, message) => {
    const refusal = readUpload({ json: { bundle: bundleOf(more) } }, uploadDeps())
    await expect(refusal).rejects.toMatchObject({
      code: 'plugin_manifest_invalid',
      message: expect.stringMatching(message) as unknown,
    })
  })
})

describe('T26: a bundle is refused', () => {
  const whole = bundleOf({})
  it.each([
    ['that is nothing', {}, /bundle/],
    ['beside a claim of trust', { bundle: whole, tier: 'trusted' }, /tier/],
    ['beside an order to enable it', { bundle: whole, enable: true }, /enable/],
    ['beside a URL', { bundle: whole, url: 'https://example.com' }, /url/],
    ['with more members', { bundle: { ...whole, grants: {} } }, /grants/],
    ['whose manifest is a text', { bundle: { ...whole, manifest: 'id: x' } }, /manifest/],
    ['whose manifest is a list', { bundle: { ...whole, manifest: [manifest] } }, /manifest/],
    ['with code that is no text', { bundle: { ...whole, code: { js: '' } } }, /code/],
    [
      'without the code it names',
      { bundle: { ...whole, code: undefined } },
      /bundle\.code: is missing/,
    ],
    [
      'with too much code',
      { bundle: { ...whole, code: 'x'.repeat(bundleCaps.maxCodeChars + 1) } },
      /code/,
    ],
    [
      'with too many files',
      {
        bundle: {
          ...whole,
          files: Object.fromEntries(
            Array.from({ length: 201 }, (_unused, index) => [`f${index}`, '']),
          ),
        },
      },
      /more than 200/,
    ],
    [
      'with too much text',
      { bundle: { ...whole, files: { a: 'x'.repeat(bundleCaps.maxFilesChars + 1) } } },
      /characters/,
    ],
    ['with a file that is no text', { bundle: { ...whole, files: { a: [1] } } }, /files\.a/],
    [
      'with a file elsewhere',
      { bundle: { ...whole, files: { '../a': 'x' } } },
      /leaves the folder/,
    ],
    [
      'with two files of one name',
      { bundle: { ...whole, files: { a: '', A: '' } } },
      /differ only in case/,
    ],
    ['with half a character', { bundle: { ...whole, files: { a: '\ud800' } } }, /surrogate/],
    [
      'with __proto__ in its manifest',
      {
        bundle: JSON.parse(
          '{"manifest":{"config":{"__proto__":{"admin":true}}},"files":{}}',
        ) as unknown,
      },
      /__proto__/,
    ],
    [
      'with __proto__ as a file',
      { bundle: JSON.parse('{"manifest":{},"files":{"__proto__":"x"}}') as unknown },
      /__proto__/,
    ],
    [
      'that is nested without end',
      {
        bundle: JSON.parse(
          `{"manifest":{"config":${'['.repeat(500)}${']'.repeat(500)}},"files":{}}`,
        ) as unknown,
      },
      /nested deeper/,
    ],
    ['with a signature that is a word', { bundle: whole, signature: 'trusted' }, /signature/],
    [
      'with a signature that is short',
      { bundle: whole, signature: { key: 'AA==', value: 'AA==' } },
      /signature\.key/,
    ],
    [
      'with a signature that names a tier',
      {
        bundle: whole,
        signature: { key: `${'A'.repeat(43)}=`, value: `${'A'.repeat(86)}==`, tier: 'builtin' },
      },
      /signature/,
    ],
  ] as const)('%s', async (_name, json, message) => {
    await expect(readUpload({ json }, uploadDeps())).rejects.toMatchObject({
      code: expect.stringMatching(/^plugin_(upload|manifest)_invalid$/) as unknown,
      message: expect.stringMatching(message) as unknown,
    })
    expect(Reflect.get({}, 'admin')).toBeUndefined()
  })
})

/** What a person would not see, or would take for something else. */
const disguises = {
  'a line break': 'a.example\nsecret: NOTHING',
  'a carriage return': 'a.example\r',
  'an escape': 'a.example\u001b[2K',
  'a right-to-left override': 'a\u202eelpmaxe.example',
  'a zero-width space': 'a\u200b.example',
  'a zero-width joiner': 'a\u200d.example',
  'a tag character': 'a.example\u{e0041}',
  'a variation selector': 'a.example\ufe01',
  'a filler': 'a.example\u3164',
  'a blank of braille': 'a.example\u2800',
  'a separator of lines': 'a.example\u2028b',
} as const
const network = (host: string) => ({ grants: { network: [{ host, methods: ['GET'] }] } })
const secret = (host: string) => ({ grants: { secrets: [{ name: 'K', host, in: 'header' }] } })

describe('T3: an operator is shown all of a manifest', () => {
  const tools = (tool: object) => ({
    contributes: { tools: [{ name: 'a', description: 'x', ...tool }] },
  })
  const places: readonly (readonly [string, (text: string) => Record<string, unknown>])[] = [
    ['grants.network[0].host', network],
    ['grants.secrets[0].host', secret],
    ['name', (name) => ({ name })],
    ['uses_tools[0]', (one) => ({ uses_tools: [one] })],
    ['grants.model.models[0]', (one) => ({ grants: { model: { max_tokens: 1, models: [one] } } })],
    [
      'agent.model',
      (model) => ({ agent: { integration_mode: 'tool', model, instructions: 'a.md' } }),
    ],
    [
      'contributes.hooks[0].match',
      (match) => ({ contributes: { hooks: [{ on: 'sessionEnd', match }] } }),
    ],
  ]
  const cases = places.flatMap(([place, make]) =>
    Object.entries(disguises).map(([what, text]) => [what, place, make(text)] as const),
  )
  it.each(cases)('refuses %s in %s', async (_what, place, more) => {
    const sent = readUpload({ json: { bundle: bundleOf(more) } }, uploadDeps())
    await expect(sent).rejects.toMatchObject({ code: 'plugin_manifest_invalid' })
    await expect(sent).rejects.toThrow(place)
    // The refusal does not do what it refuses.
    await expect(sent).rejects.toThrow(/^[\x20-\x7e]*$/)
  })

  it.each(Object.entries(disguises).filter(([, text]) => !/[\n\r\u200d]/.test(text)))(
    'refuses %s in a description, of the plugin and of a tool, and in a schema',
    async (_what, text) => {
      const schema = { type: 'object', properties: { a: { type: 'string', description: text } } }
      for (const more of [
        { description: text },
        { natural_language_description: text },
        tools({ description: text }),
        tools({ input_schema: schema }),
      ])
        await expect(
          readUpload({ json: { bundle: bundleOf(more) } }, uploadDeps()),
        ).rejects.toThrow('nobody can see')
    },
  )

  it('takes lines, emoji and other alphabets in descriptions', async () => {
    const description = 'Grüße.\n\tСпасибо 👩‍💻 ❤️ می‌خواهم. Où\u00a0? 全角\u3000空白'
    const more = { description, ...tools({ description }) }
    const { manifest: read } = await readUpload({ json: { bundle: bundleOf(more) } }, uploadDeps())
    expect(read.description).toBe(description)
  })

  it('T3: refuses another blank in what is one line', async () => {
    const sent = readUpload({ json: { bundle: bundleOf({ name: 'Nice\u00a0x' }) } }, uploadDeps())
    await expect(sent).rejects.toThrow(/^plugin\.yaml: name: .*U\+00A0, at character 5$/)
  })

  const agent = { integration_mode: 'tool', model: 'openai/x', instructions: 'a.md' }
  it.each([
    ['uses_tools[0]', { uses_tools: ['kv__set (allowed already)'] }],
    ['agent.uses_tools[1]', { agent: { ...agent, uses_tools: ['kv', 'a b : ok'] } }],
    ['agent.disallowed_tools[0]', { agent: { ...agent, disallowed_tools: ['a b'] } }],
    ['agent.model', { agent: { ...agent, model: 'openai/x (allowed already)' } }],
    ['grants.model.models[0]', { grants: { model: { max_tokens: 1, models: ['x: no limit'] } } }],
  ])('T3: refuses sentences of its own where a name stands: %s', async (place, more) => {
    const bundle = { ...bundleOf(more), files: { 'a.md': 'x' } }
    await expect(readUpload({ json: { bundle } }, uploadDeps())).rejects.toThrow(place)
  })

  it('takes the names that there are', async () => {
    const more = {
      uses_tools: ['kv', 'files__read', 'kv__*', 'code-reviewer'],
      agent: { ...agent, model: 'cloudflare/@cf/meta/llama-3.1-8b', uses_tools: ['kv'] },
      grants: { model: { max_tokens: 1, models: ['openrouter/meta/llama:free', 'default'] } },
    }
    const bundle = { ...bundleOf(more), files: { 'a.md': 'x' } }
    await expect(readUpload({ json: { bundle } }, uploadDeps())).resolves.toBeDefined()
  })

  it.each([
    ['*.com', network('*.com')],
    ['*.co.uk', network('*.co.uk')],
    ['*.example.com', secret('*.example.com')],
    ['https://a.example', network('https://a.example')],
    ['a.example:443', network('a.example:443')],
    ['a.example/path', network('a.example/path')],
    ['a.example, b.example', network('a.example, b.example')],
    ['\u0430.example', network('\u0430.example')],
  ])('refuses the host %s', async (_host, more) => {
    await expect(readUpload({ json: { bundle: bundleOf(more) } }, uploadDeps())).rejects.toThrow(
      'must be a host such as api.example.com',
    )
  })

  it('refuses more than a person reads, and schemas that a remote server could not have either', async () => {
    const hosts = Array.from({ length: 201 }, (_unused, n) => ({
      host: `h${n}.example`,
      methods: ['GET'],
    }))
    const deep = Array.from({ length: 30 }).reduce<object>((inner) => ({ items: inner }), {})
    for (const [more, why] of [
      [{ grants: { network: hosts } }, 'asks for 201 things'],
      [{ grants: { model: { max_tokens: 1, models: ['x'.repeat(400)] } } }, 'longer than 300'],
      [tools({ input_schema: { $ref: 'https://a.example/' } }), 'refers to a schema elsewhere'],
      [tools({ input_schema: deep }), 'deeper than 24'],
      [tools({ input_schema: { ['x'.repeat(201)]: 1 } }), '200 characters'],
    ] as const)
      await expect(readUpload({ json: { bundle: bundleOf(more) } }, uploadDeps())).rejects.toThrow(
        why,
      )
  })

  it('refuses the same in a zip, and in where it says that it came from', async () => {
    const yaml = `${manifestText}grants: { network: [{ host: "a.example\\nx", methods: [GET] }] }\n`
    await expect(send(yaml)).rejects.toThrow('grants.network[0].host')
    const json = { bundle: bundleOf({}), source: 'https://a.example\u202e' }
    await expect(readUpload({ json }, uploadDeps())).rejects.toThrow('source')
  })

  // Each in every way in which it may be written; `isola http allow` opens none of them either.
  it.each([
    '10.0.0.5',
    '172.16.3.4',
    '192.168.1.1',
    '169.254.169.254',
    '100.64.0.1',
    '127.0.0.2',
    '0.0.0.0',
    '255.255.255.255',
    '168.63.129.16',
    '2130706433',
    '0x7f000001',
    '0xa000005',
    '017700000001',
    '10.5',
    '192.168.257',
    '[::]',
    '[fc00::1]',
    '[fd12:3456::1]',
    '[fe80::1]',
    '[::ffff:10.0.0.1]',
    '[64:ff9b::a00:1]',
    '[2002:a00:1::]',
    '[::ffff:7f00:1]',
    'api.localhost',
    'db.internal',
    'metadata.google.internal',
    'nas.local',
    'router.lan',
    'api.svc',
    'redis.default',
    'db',
    'intranet',
    '10.0.0.1.nip.io',
    'app.localtest.me',
    'x.home.arpa',
  ])('H: a private host in a manifest is granted as if it could be reached: %s', async (host) => {
    const grants = { network: [{ host, methods: ['GET'] }] }
    const secret = { secrets: [{ name: 'KEY', host, in: 'header' }] }
    for (const [asked, place] of [
      [grants, 'grants.network[0].host'],
      [secret, 'grants.secrets[0].host'],
    ] as const) {
      const yaml = `${manifestText}grants: ${JSON.stringify(asked)}\n`
      await expect(send(yaml)).rejects.toThrow(`${place}: ${JSON.stringify(host)} is not public`)
    }
  })

  it.each([
    'api.example.com',
    '*',
    '8.8.8.8',
    '[2606:4700::1111]',
    'localhost',
    '127.0.0.1',
    '[::1]',
    'xn--bcher-kva.example',
  ])('a host that can be reached, in development at least, is none of these: %s', async (host) => {
    const grants = { network: [{ host, methods: ['GET'] }] }
    await expect(send(`${manifestText}grants: ${JSON.stringify(grants)}\n`)).resolves.toMatchObject(
      { manifest: { id: expect.any(String) as string } },
    )
  })
})
