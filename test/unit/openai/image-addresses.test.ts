import { describe, expect, it } from 'vitest'
import type { DeploymentEvent } from '#contracts/event.ts'
import { toContent } from '../../../src/surfaces/openai/responses/compaction-item.ts'
import { createImageReader } from '../../../src/platform/outbound/image-reader.ts'
import { checkDeployment } from '../../setup/check-events.ts'
import { createFakeApp, errorOf } from '../../fakes/http-deps.ts'
import { sendOver } from '../../fakes/outbound.ts'

const url = 'https://pictures.example/one.png'
const png = '\x89PNG\r\n\x1a\n'
const inline = `data:image/png;base64,${btoa(png)}`

/** Both ways in; each with pictures in one message of the user's. */
const ways = [
  {
    path: '/v1/chat/completions',
    at: 'messages[0].content[1].image_url.url',
    toBody: (...urls: string[]) => {
      const parts = urls.map((one) => ({ type: 'image_url', image_url: { url: one } }))
      const content = [{ type: 'text', text: 'What is this?' }, ...parts]
      return { model: 'orchestrator', messages: [{ role: 'user', content }] }
    },
  },
  {
    path: '/v1/responses',
    at: 'input[0].content[1].image_url',
    toBody: (...urls: string[]) => {
      const parts = urls.map((one) => ({ type: 'input_image', image_url: one }))
      const content = [{ type: 'input_text', text: 'What is this?' }, ...parts]
      return { model: 'orchestrator', input: [{ role: 'user', content }] }
    },
  },
]

/** The app, and what it asked outside. */
function createWorld({ areAddressesTaken = false, pictureBytes = png.length } = {}) {
  const picture = Uint8Array.from(png.padEnd(pictureBytes, '.'), (c) => c.charCodeAt(0))
  const asked: string[] = []
  const recorded: DeploymentEvent[] = []
  let isRecordAway = false
  const deploymentLog = {
    async append(event: DeploymentEvent) {
      if (isRecordAway) throw new Error('D1_ERROR')
      checkDeployment(event)
      recorded.push(event)
    },
  }
  const send = sendOver(async (to) => {
    asked.push(to)
    if (to.endsWith('/inside'))
      return new Response(null, { status: 302, headers: { location: 'https://10.0.0.1/' } })
    return new Response(to.endsWith('.html') ? '<html>' : picture)
  })
  const readImage = areAddressesTaken ? undefined : createImageReader(send)
  const app = createFakeApp({ deps: { readImage, deploymentLog } })
  return { asked, recorded, loseRecord: () => void (isRecordAway = true), ...app }
}

describe.each(ways)('an image by its address at $path', ({ path, at, toBody }) => {
  it('is fetched once, by us, and kept as the picture; what a stranger put there counts', async () => {
    const { asked, send, submitted } = createWorld()
    const response = await send(path, { json: toBody(url, url) })
    expect(response.status, await response.clone().text()).toBe(200)
    expect(asked).toEqual([url])
    expect(submitted().messages).toEqual([
      {
        role: 'user',
        text: 'What is this?',
        images: [{ url: inline }, { url: inline }],
        taint: ['user'],
        label: {
          integrity: 'stranger',
          confidentiality: 'said',
          sources: [
            { from: 'image pictures.example', integrity: 'stranger', confidentiality: 'public' },
          ],
        },
      },
    ])
  })

  it('is on the record by its host, with its size and what became of it, never by its address', async () => {
    const { send, submitted, recorded } = createWorld()
    const secret = `${url}?token=s3cret`
    expect((await send(path, { json: toBody(secret, secret) })).status).toBe(200)
    expect(recorded).toMatchObject([
      { type: 'images_fetched', principal: 'operator', trace: submitted().trace },
    ])
    expect(recorded[0]?.data).toEqual({
      images: [{ host: 'pictures.example', verdict: 'fetched', sizeBytes: png.length }],
      request: expect.stringMatching(/^req_/),
    })
    await send(path, { json: toBody(inline) })
    expect(recorded).toHaveLength(1)
  })

  it.each([
    ['https://user:s3cret@pictures.example/', { host: 'pictures.example', verdict: 'refused' }],
    [
      'https://pictures.example/inside',
      { host: 'pictures.example', hosts: ['pictures.example', '10.0.0.1'], verdict: 'refused' },
    ],
    ['https://pictures.example/a.html', { host: 'pictures.example', verdict: 'unsupported' }],
  ])('T5: %s is on the record too, though nothing is run', async (target, image) => {
    const { send, recorded, calls } = createWorld()
    expect((await send(path, { json: toBody(target) })).status).toBe(400)
    expect(recorded.map(({ data }) => data)).toMatchObject([{ images: [image] }])
    expect([calls, JSON.stringify(recorded).includes('s3cret')]).toEqual([[], false])
  })

  it('is answered where the record cannot be written, and the operator hears of that', async () => {
    const { send, loseRecord, faults } = createWorld()
    loseRecord()
    expect((await send(path, { json: toBody(url) })).status).toBe(200)
    expect(faults).toHaveLength(1)
  })

  it("is the user's own where it comes as a data URL", async () => {
    const { asked, send, submitted } = createWorld()
    await send(path, { json: toBody(inline) })
    expect(asked).toEqual([])
    expect(submitted().messages).toEqual([
      { role: 'user', text: 'What is this?', images: [{ url: inline }], taint: ['user'] },
    ])
  })

  it('stays an address where every model server may be given one, and is labelled all the same', async () => {
    const { asked, send, submitted } = createWorld({ areAddressesTaken: true })
    await send(path, { json: toBody(url) })
    expect(asked).toEqual([])
    expect(submitted().messages).toMatchObject([
      { images: [{ url }], label: { integrity: 'stranger' } },
    ])
  })

  it.each([
    ['https://169.254.169.254/latest/meta-data/', 'a host that is not public is not allowed', 0],
    ['https://192.168.0.1:8080/admin', 'port 8080', 0],
    ['https://pictures.example/inside', 'a host that is not public is not allowed', 1],
    ['http://pictures.example/one.png', 'only https is', 0],
    ['https://pictures.example/one.html', 'no PNG, JPEG, GIF or WebP image', 1],
  ])('T5: %s is refused by its field', async (target, message, requests) => {
    const { asked, send, calls } = createWorld()
    const response = await send(path, { json: toBody(target) })
    expect(response.status).toBe(400)
    expect(await errorOf(response)).toMatchObject({
      code: 'invalid',
      param: at,
      message: expect.stringContaining(message) as string,
    })
    expect([asked.length, calls]).toEqual([requests, []])
  })

  it('T9: there are at most 8 of them in a request', async () => {
    const { asked, send } = createWorld()
    const urls = Array.from({ length: 9 }, (_, index) => `${url}?${index}`)
    const response = await send(path, { json: toBody(...urls) })
    expect([response.status, asked]).toEqual([400, []])
  })
})

const manyOf = (count: number) => Array.from({ length: count }, (_, index) => `${url}?${index}`)

describe.each(ways)('T9: pictures by address at $path are too large together', (way) => {
  const { path, at, toBody } = way
  const atOf = (index: number) => at.replace('content[1]', `content[${index + 1}]`)

  it.each([
    ['one of 100 KB, 200 times', Array<string>(200).fill(url), 100_000, 1, 0],
    ['eight of 1 MiB, and the third is not asked for', manyOf(8), 1024 * 1024, 2, 1],
    ['three of 640 KB', manyOf(3), 640_000, 3, 2],
  ])('%s', async (_what, urls, pictureBytes, requests, index) => {
    const { asked, send, calls } = createWorld({ pictureBytes })
    const response = await send(path, { json: toBody(...urls) })
    expect([response.status, (await errorOf(response)).param]).toEqual([413, atOf(index)])
    expect([asked.length, calls]).toEqual([requests, []])
  })

  it('but not where they fit', async () => {
    const { asked, send } = createWorld({ pictureBytes: 170_000 })
    const response = await send(path, { json: toBody(...manyOf(8)) })
    expect([response.status, asked.length]).toEqual([200, 8])
  })
})

it('T5: an address that a client put into its compaction is fetched by us, too, and refused inside', async () => {
  const toBody = (target: string) => {
    const kept = [{ role: 'user' as const, text: 'Look', images: [{ url: target }], taint: [] }]
    const compacted = { type: 'compaction', encrypted_content: toContent(kept) }
    return { model: 'orchestrator', input: [compacted, { role: 'user', content: 'And?' }] }
  }
  const { send, submitted } = createWorld()
  const refused = await send('/v1/responses', { json: toBody('https://10.0.0.1/') })
  expect([refused.status, (await errorOf(refused)).param]).toEqual([400, 'input[0]'])
  await send('/v1/responses', { json: toBody(url) })
  expect(submitted().messages).toMatchObject([
    { text: 'Look', images: [{ url: inline }], label: { integrity: 'stranger' } },
    { text: 'And?' },
  ])
})

it('T11: a picture by its address makes the label of what was kept no better', async () => {
  const kept = [
    { role: 'user' as const, text: 'Look', images: [{ url }], taint: ['context' as const] },
  ]
  const compacted = { type: 'compaction', encrypted_content: toContent(kept) }
  const { send, submitted } = createWorld()
  const input = [compacted, { role: 'user', content: 'And?' }]
  await send('/v1/responses', { json: { model: 'orchestrator', input } })
  const [first] = submitted().messages
  expect(first?.label?.confidentiality).toBe('private')
  expect(first?.label?.sources.map((one) => one.from)).toContain('image pictures.example')
})

it('a message from before a compaction is known again by its picture', async () => {
  const kept = [{ role: 'user' as const, text: 'Look', images: [{ url: inline }], taint: [] }]
  const compacted = { type: 'compaction', encrypted_content: toContent(kept) }
  const content = [
    { type: 'input_text', text: 'Look' },
    { type: 'input_image', image_url: url },
  ]
  const { send, submitted } = createWorld()
  const input = [{ role: 'user', content }, compacted, { role: 'user', content: 'And?' }]
  await send('/v1/responses', { json: { model: 'orchestrator', input } })
  expect(submitted().messages.map((one) => 'text' in one && one.text)).toEqual(['Look', 'And?'])
})

it('files are refused, by address and otherwise', async () => {
  const { asked, send } = createWorld()
  const content = [{ type: 'input_file', file_url: 'https://files.example/a.pdf' }]
  const json = { model: 'orchestrator', input: [{ role: 'user', content }] }
  const response = await send('/v1/responses', { json })
  expect([response.status, (await errorOf(response)).param]).toEqual([
    400,
    'input[0].content[0].type',
  ])
  expect(asked).toEqual([])
})
