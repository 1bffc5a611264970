import { describe, expect, it } from 'vitest'
import { closedAddressText, closedText } from '../../../src/features/policy/types.ts'
import { openHost } from '../../../src/runtime/kernel/types/network-rule.ts'

describe('a host that is opened', () => {
  it.each(
    (
      '*.8.8 *.1.1.1 *.127.0.0.1 8.8.8 999.8.8.8 a.0x7f *.s3.amazonaws.com *.eu-west-1.amazonaws.com ' +
      '*.storage.googleapis.com *.googleapis.com *.blob.core.windows.net *.windows.net *.googleusercontent.com ' +
      '*.ddns.net *.duckdns.org *.lambda-url.us-east-1.on.aws *.on.aws *.gouv.fr *.co.uk *.com.au *.github.io ' +
      '*.amazonaws.com.cn localhost:99999 127.0.0.1:65536 *. *.com'
    ).split(' '),
  )('P4: is not one that many tenants share, and has to be a host: %s', (host) => {
    expect(openHost.safeParse(host).success).toBe(false)
  })

  it.each(
    (
      'example.com *.example.com *.example.co.uk *.mine.github.io *.mine.pages.dev bucket.s3.amazonaws.com ' +
      '8.8.8.8 a.xn--p1ai *.a.xn--p1ai localhost localhost:65535 [::1]:80 * www.gouv.fr *.service.gouv.fr'
    ).split(' '),
  )('is a host that can exist: %s', (host) => {
    expect(openHost.parse(host)).toBe(host)
  })
})

describe('the description of a call to another host', () => {
  const get = (url: string) => ({ method: 'GET', url })

  it.each([
    'https://a;$(id);.example.com/',
    'https://`id`.example.com/',
    'https://*/',
    'https://*.example.com/',
    'https://example.com:8443/',
  ])('P4: has a command only with a host that can be allowed: %s', (url) => {
    const text = closedText(get(url))
    expect(text).not.toContain('isola http')
    expect(text).toContain('it cannot be allowed')
  })

  it('says that an address is cut', () => {
    const url = `https://example.com/?d=${'x'.repeat(2_000)}`
    expect(closedAddressText(get(url))).toMatch(
      /isola http allow example\.com\)\. The address begins: https.*x… \(2023 characters in all\)$/,
    )
    expect(closedAddressText(get('https://example.com/'))).toMatch(/\. The whole address: [^ ]+$/)
  })
})
