import { describe, expect, it } from 'vitest'
import { fetchDocument } from '../../../cli/fetch-document.ts'

/** A network in which each address answers like this, and names stand for these addresses. */
function world({
  answers = {},
  open = [],
  names = {},
}: {
  readonly answers?: Readonly<Record<string, () => Response>>
  readonly open?: readonly string[]
  readonly names?: Readonly<Record<string, readonly string[]>>
}) {
  const asked: string[] = []
  const send = async (url: string | URL | Request) => {
    asked.push(String(url))
    return answers[String(url)]?.() ?? new Response('page')
  }
  const read = (url: string) =>
    fetchDocument(url, {
      send: send as typeof fetch,
      openHosts: async () => open,
      resolve: async (name) => names[name] ?? ['93.184.216.34'],
    }).then((response) => response.text())
  return { asked, read }
}
const redirectTo = (location: string) => () =>
  new Response(null, { status: 302, headers: { location } })
const page = 'https://tea.example.com/page'

describe('T5: a document at an address', () => {
  const inside = [
    'http://127.0.0.1:8787/',
    'http://localhost/',
    'http://[::1]:22/',
    'http://0x7f.1/',
    'http://169.254.169.254/latest/meta-data/',
    'http://10.0.0.1/',
    'https://192.168.1.1/',
    'http://[::ffff:127.0.0.1]/',
    'http://[64:ff9b::a00:1]/',
    'http://metadata.google.internal/',
    'http://router.lan/',
  ]

  it.each(inside)('is not asked for at %s', async (address) => {
    const { asked, read } = world({})
    await expect(read(address)).rejects.toThrow('It was not asked')
    expect(asked).toEqual([])
  })

  it.each(inside)('is not asked for at %s behind a redirect', async (address) => {
    const { asked, read } = world({ answers: { [page]: redirectTo(address) } })
    await expect(read(page)).rejects.toThrow('It was not asked')
    expect(asked).toEqual([page])
  })

  it.each([
    ['127.0.0.1'],
    ['10.1.2.3'],
    ['::1'],
    ['::ffff:127.0.0.1'],
    ['fe80::1%eth0'],
    ['fd00::1'],
  ])('is not asked for by a name that stands for %s', async (address) => {
    const { asked, read } = world({ names: { 'tea.example.com': ['93.184.216.34', address] } })
    await expect(read(page)).rejects.toThrow('a host that is not public')
    expect(asked).toEqual([])
  })

  it('is read at a server of this machine that an operator opened, and at no other port', async () => {
    const open = ['localhost:3000']
    const local = 'http://localhost:3000/a.html'
    expect(await world({ open }).read(local)).toBe('page')
    const { asked, read } = world({ open, answers: { [local]: redirectTo('http://localhost:9/') } })
    await expect(read(local)).rejects.toThrow('isola http allow')
    expect(asked).toEqual([local])
  })

  it('is not read at this machine where something outside leads there, open or not', async () => {
    const answers = { [page]: redirectTo('http://localhost:3000/') }
    const { asked, read } = world({ open: ['localhost:3000'], answers })
    await expect(read(page)).rejects.toThrow('It was not asked')
    expect(asked).toEqual([page])
  })

  it('is read behind redirects of public hosts, and not behind any number', async () => {
    const next = 'https://other.example.com/'
    const { asked, read } = world({ answers: { [page]: redirectTo(next) } })
    expect(await read(page)).toBe('page')
    expect(asked).toEqual([page, next])
    const round = world({ answers: { [page]: redirectTo(page) } })
    await expect(round.read(page)).rejects.toThrow('more than 5 times')
  })

  it.each(['file:///etc/passwd', 'ftp://tea.example.com/', 'data:text/plain,x'])(
    'is not what a redirect to %s says',
    async (location) => {
      const { read } = world({ answers: { [page]: redirectTo(location) } })
      await expect(read(page)).rejects.toThrow('It was not asked')
    },
  )
})
