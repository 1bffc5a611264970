import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import type { Carrier } from '#contracts/outbound.ts'
import { createImageReader } from '../../../src/outbound/image-reader.ts'
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
  return `http://127.0.0.1:${port}`
}

const carry: Carrier = (url, init) => fetch(url, init)
const readHere = createImageReader(outboundOver(carry, { isDevelopment: true }).send)
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
    await expect(read(inside)).rejects.toThrow('is not allowed')
    expect(asked).toEqual([])
    await expect(read(url)).rejects.toThrow('is not allowed')
    expect(asked).toEqual([url])
  })
})
