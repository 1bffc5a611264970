import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Carrier } from '#contracts/outbound.ts'
import { createImageReader } from '../../../src/platform/outbound/image-reader.ts'
import { createFakeClock } from '../../fakes/kernel.ts'
import { outboundOver, sendOver } from '../../fakes/outbound.ts'

const png = Buffer.from('\x89PNG\r\n\x1a\n and the rest', 'latin1')

const closing: (() => void)[] = []
afterEach(() => closing.splice(0).forEach((close) => close()))

/** A server on this machine, which a deployment in development may ask. */
async function serve(answer: RequestListener) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closing.push(() => server.close())
  const { port } = server.address() as AddressInfo
  open.push(`127.0.0.1:${port}`)
  return `http://127.0.0.1:${port}`
}

const carry: Carrier = (url, init) => fetch(url, init)
const here = outboundOver(carry, { isDevelopment: true }).send
const open: string[] = []
const readHere = createImageReader(here, async () => open)
const answered = (answer: () => Response) => createImageReader(sendOver(async () => answer()))
const url = 'https://pictures.example/one'

describe('a picture at an address', () => {
  it.each([
    ['image/png', png],
    ['image/jpeg', Buffer.from('\xff\xd8\xff\xe0 and the rest', 'latin1')],
    ['image/gif', Buffer.from('GIF89a and the rest')],
    ['image/webp', Buffer.from('RIFF\x01\x02\x03\x04WEBPVP8 ', 'latin1')],
  ])('comes as a data URL of %s, whatever its server calls it', async (type, bytes) => {
    const at = await serve((_request, response) => {
      response.setHeader('content-type', 'text/html')
      response.end(bytes)
    })
    expect(await readHere(`${at}/one`)).toBe(`data:${type};base64,${bytes.toString('base64')}`)
  })

  it('may be behind a redirect', async () => {
    const at = await serve((request, response) => {
      if (request.url === '/two') return response.end(png)
      return response.writeHead(302, { location: '/two' }).end()
    })
    expect(await readHere(`${at}/one`)).toMatch(/^data:image\/png;base64,/)
  })

  it.each([
    ['a page', '<html>', 'no PNG, JPEG, GIF or WebP image'],
    ['a drawing that can run code', '<svg xmlns="http://www.w3.org/2000/svg">', 'no PNG'],
    ['nothing', '', 'no PNG'],
    ['one that begins late', ` ${png.toString('latin1')}`, 'no PNG'],
  ])('is no %s', async (_what, body, message) => {
    const read = answered(() => new Response(body, { headers: { 'content-type': 'image/png' } }))
    await expect(read(url)).rejects.toThrow(message)
  })

  it('T9: has at most 1 MiB', async () => {
    const ofSize = (sizeBytes: number) => {
      const bytes = new Uint8Array(sizeBytes)
      bytes.set(png)
      return answered(() => new Response(bytes))(url)
    }
    expect(await ofSize(1_048_576)).toMatch(/^data:image\/png/)
    await expect(ofSize(1_048_577)).rejects.toThrow('larger than 1 MiB')
  })

  it('is there: another status is told', async () => {
    const read = answered(() => new Response(png, { status: 404 }))
    await expect(read(url)).rejects.toThrow('pictures.example answered 404')
  })

  it('comes within 15 seconds', async () => {
    const clock = createFakeClock()
    const read = createImageReader(sendOver(() => new Promise(() => {}), { sleep: clock.sleep }))
    const reading = read(url).catch((error: unknown) => error)
    await clock.advance(15_000)
    expect(String(await reading)).toContain('took too long')
  })

  it.each([
    'https://10.0.0.1/a.png',
    'https://169.254.169.254/latest/meta-data/',
    'https://metadata.google.internal/a.png',
    'https://localhost/a.png',
    'https://pictures.example:8443/a.png',
    'https://u:p@pictures.example/a.png',
    'http://pictures.example/a.png',
  ])('T5: is at a public address over TLS, first and behind a redirect: not %s', async (inside) => {
    const asked: string[] = []
    const read = createImageReader(
      sendOver(async (to) => {
        asked.push(to)
        return new Response(null, { status: 302, headers: { location: inside } })
      }),
    )
    await expect(read(inside)).rejects.toThrow(/not allowed|only https is allowed/)
    expect(asked).toEqual([])
    await expect(read(url)).rejects.toThrow(/not allowed|only https is allowed/)
    expect(asked).toEqual([url])
  })
})

describe('T5: a picture at this machine, in development', () => {
  const failureOf = (reading: Promise<unknown>) =>
    reading.then(
      () => undefined,
      (error: unknown) => error,
    )

  it.each([
    'http://127.0.0.1:6379/a.png',
    'http://localhost:8787/a.png',
    'http://[::1]:22/a.png',
    'https://localhost/a.png',
    'https://127.0.0.1:8443/a.png',
  ])('is not asked for at %s, which no operator opened', async (address) => {
    const asked: string[] = []
    const isDevelopment = true
    const to: Carrier = async (at) => {
      asked.push(at)
      return new Response(png)
    }
    const read = createImageReader(sendOver(to, { isDevelopment }), async () => ['localhost:3000'])
    expect(await failureOf(read(address))).toMatchObject({ failure: 'refused' })
    expect(asked).toEqual([])
  })

  it('says the same of a port where something answers as of one where nothing does', async () => {
    const at = await serve((_request, response) => response.end(png))
    const closed = createImageReader(here)
    const told = [at, 'http://127.0.0.1:9'].map((one) => failureOf(closed(`${one}/a.png`)))
    const [something, nothing] = (await Promise.all(told)).map(String)
    expect(something).toBe(nothing)
    expect(something).toContain('isola http allow <host>:<port>')
  })

  it('is found behind a redirect only where that is open, too', async () => {
    let asked = 0
    const inside = await serve((_request, response) => {
      asked += 1
      response.end(png)
    })
    open.splice(open.indexOf(new URL(inside).host), 1)
    const at = await serve((_request, response) =>
      response.writeHead(302, { location: `${inside}/a.png` }).end(),
    )
    expect(await failureOf(readHere(`${at}/one`))).toMatchObject({ failure: 'refused' })
    expect(asked).toBe(0)
  })

  it('is not found behind a redirect from outside, open or not', async () => {
    const inside = await serve((_request, response) => response.end(png))
    const read = createImageReader(
      sendOver(async () => new Response(null, { status: 302, headers: { location: inside } }), {
        isDevelopment: true,
      }),
      async () => open,
    )
    expect(await failureOf(read(url))).toMatchObject({ failure: 'refused' })
  })
})
