import { describe, expect, it } from 'vitest'
import { requestSchemes } from '#contracts/manifest/manifest.ts'
import {
  type SignedRequest,
  signRequest,
  verifyEd25519,
  verifyRequest,
} from '../../../../src/features/plugins/secrets/signatures.ts'

const fromHex = (hex: string) => Uint8Array.from(Buffer.from(hex, 'hex'))

// docs.slack.dev, "Verifying requests from Slack".
const slackSeconds = 1_531_420_618
const slack = {
  scheme: 'slack' as const,
  secret: '8f742231b10e8888abcd99yyyzzz85a5',
  signature: 'v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503',
  body: 'token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c',
}
// docs.github.com, "Validating webhook deliveries".
const github = {
  scheme: 'github' as const,
  secret: "It's a Secret to Everybody",
  signature: 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
  body: 'Hello, World!',
}
const nowMs = slackSeconds * 1_000

// RFC 8032, 7.1: the keys of TEST 2; each vector is public key, message, signature.
const rfcSeed = '4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb'
const rfcVectors = [
  [
    'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a',
    '',
    'e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b',
  ],
  [
    '3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c',
    '72',
    '92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00',
  ],
  [
    'fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025',
    'af82',
    '6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a',
  ],
] as const

/** As Discord signs: the time as it is in its header, and the body behind it. */
async function signedByDiscord(body: string, seconds = slackSeconds): Promise<SignedRequest> {
  const prefix = fromHex('302e020100300506032b657004220420')
  const key = await crypto.subtle.importKey(
    'pkcs8',
    Uint8Array.from([...prefix, ...fromHex(rfcSeed)]),
    'Ed25519',
    false,
    ['sign'],
  )
  const signed = new TextEncoder().encode(`${seconds}${body}`)
  const signature = await crypto.subtle.sign('Ed25519', key, signed)
  return {
    body,
    headers: {
      'X-Signature-Ed25519': Buffer.from(signature).toString('hex'),
      'X-Signature-Timestamp': String(seconds),
    },
  }
}

const secrets: Record<(typeof requestSchemes)[number], string> = {
  github: github.secret,
  slack: slack.secret,
  stripe: 'whsec_test',
  shopify: 'hush',
  line: 'channel secret',
  discord: rfcVectors[1][0],
  telegram: 'secret-token_1',
}

/** A request that is right. */
async function rightRequest(scheme: (typeof requestSchemes)[number]): Promise<SignedRequest> {
  const body = '{"type":1}'
  if (scheme === 'discord') return signedByDiscord(body)
  if (scheme === 'telegram')
    return { body, headers: { 'X-Telegram-Bot-Api-Secret-Token': secrets.telegram } }
  const headers = await signRequest({ body }, { scheme, secret: secrets[scheme], nowMs })
  return { body, headers: headers! }
}

describe('the examples that services publish', () => {
  it('Slack: its signature is right, and ours is the same', async () => {
    const { body, signature, ...by } = slack
    const headers = {
      'X-Slack-Signature': signature,
      'X-Slack-Request-Timestamp': String(slackSeconds),
    }
    expect(await verifyRequest({ headers, body }, { ...by, nowMs })).toBe(true)
    expect(await signRequest({ body }, { ...by, nowMs })).toEqual({
      'x-slack-signature': signature,
      'x-slack-request-timestamp': String(slackSeconds),
    })
  })

  it('GitHub: its signature is right, and ours is the same', async () => {
    const { body, signature, ...by } = github
    const headers = { 'X-Hub-Signature-256': signature }
    expect(await verifyRequest({ headers, body }, { ...by, nowMs })).toBe(true)
    expect(await signRequest({ body }, { ...by, nowMs })).toEqual({
      'x-hub-signature-256': signature,
    })
  })

  it.each(rfcVectors)('RFC 8032: %s', async (key, message, signature) => {
    expect(await verifyEd25519(key, signature, fromHex(message))).toBe(true)
    expect(await verifyEd25519(key, signature, fromHex(`${message}00`))).toBe(false)
  })
})

describe.each(requestSchemes)('a request signed as of %s', (scheme) => {
  const by = { scheme, secret: secrets[scheme], nowMs }

  it('is right as it came, its body as text or as bytes', async () => {
    const { headers, body } = await rightRequest(scheme)
    const bytes = new TextEncoder().encode(String(body))
    for (const one of [body, bytes])
      expect(await verifyRequest({ headers, body: one }, by)).toBe(true)
  })

  it('is wrong with another body', async () => {
    const { headers } = await rightRequest(scheme)
    // Telegram signs nothing: a sender with the token may say anything.
    const isRight = await verifyRequest({ headers, body: '{"type":2}' }, by)
    expect(isRight).toBe(scheme === 'telegram')
  })

  it('is wrong under another secret, and under none', async () => {
    const request = await rightRequest(scheme)
    const other = scheme === 'discord' ? rfcVectors[2][0] : `${secrets[scheme]}x`
    for (const secret of [other, ''])
      expect(await verifyRequest(request, { ...by, secret })).toBe(false)
  })

  it('is wrong with a signature that is shorter, longer, changed, written otherwise, or not there', async () => {
    const { headers, body } = await rightRequest(scheme)
    const [name, value] = Object.entries(headers)[0]!
    const hex = /[0-9a-f]{64,128}$/.exec(value)?.[0]
    const last = value.at(-1) === '0' ? '1' : '0'
    const forms = [
      value.slice(0, -1),
      `${value}0`,
      value.slice(0, -2) + last + last,
      '',
      ...(hex ? [value.replace(hex, Buffer.from(hex, 'hex').toString('base64'))] : []),
      ...(value.endsWith('=') ? [Buffer.from(value, 'base64').toString('hex')] : []),
    ]
    for (const form of forms)
      expect(await verifyRequest({ headers: { ...headers, [name]: form }, body }, by)).toBe(false)
    const { [name]: _gone, ...without } = headers
    expect(await verifyRequest({ headers: without, body }, by)).toBe(false)
    const twice = { ...headers, [name.toLowerCase()]: value, [name.toUpperCase()]: value }
    expect(await verifyRequest({ headers: twice, body }, by)).toBe(false)
  })
})

it.each(['slack', 'stripe', 'discord'] as const)(
  'a request signed as of %s is wrong when it is more than 5 minutes old, or of the future',
  async (scheme) => {
    const request = await rightRequest(scheme)
    const at = (ms: number) =>
      verifyRequest(request, { scheme, secret: secrets[scheme], nowMs: nowMs + ms })
    expect([await at(300_000), await at(-300_000)]).toEqual([true, true])
    expect([await at(301_000), await at(-301_000)]).toEqual([false, false])
  },
)

describe('the times and lists of headers', () => {
  it.each(['', '1531420618.0', '0x5b479e4a', ' 1531420618', '-1', 'now'])(
    'a time that reads %j is none',
    async (time) => {
      const { body, signature, ...by } = slack
      const headers = { 'x-slack-signature': signature, 'x-slack-request-timestamp': time }
      expect(await verifyRequest({ headers, body }, { ...by, nowMs })).toBe(false)
    },
  )

  it('Stripe: while a secret is exchanged one of several signatures is right; v0 and two times are not', async () => {
    const by = { scheme: 'stripe' as const, secret: secrets.stripe, nowMs }
    const { headers, body } = await rightRequest('stripe')
    const value = headers['stripe-signature']!
    const [time, signature] = value.split(',')
    const verdictOf = (header: string) =>
      verifyRequest({ headers: { 'stripe-signature': header }, body }, by)
    const other = `v1=${'0'.repeat(64)}`
    expect(await verdictOf(`${time},${other},${signature}`)).toBe(true)
    expect(await verdictOf(`${time},${signature!.replace('v1', 'v0')}`)).toBe(false)
    expect(await verdictOf(`${time},t=1,${signature}`)).toBe(false)
    expect(await verdictOf(`${time},${`${other},`.repeat(8)}${signature}`)).toBe(false)
  })

  it('only the other side signs for Discord and Telegram', async () => {
    for (const scheme of ['discord', 'telegram'] as const)
      expect(await signRequest({ body: '' }, { scheme, secret: secrets[scheme], nowMs })).toBe(
        undefined,
      )
  })

  it('a public key that is none proves nothing', async () => {
    const request = await signedByDiscord('{}')
    for (const secret of ['', 'zz', 'f'.repeat(64), rfcVectors[1][0].slice(2)])
      expect(await verifyRequest(request, { scheme: 'discord', secret, nowMs })).toBe(false)
  })
})
