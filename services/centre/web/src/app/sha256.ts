// SHA-256 (FIPS 180-4). Browsers keep `crypto.subtle` from pages over plain HTTP, and verification has to work there too.

const PRIMES = firstPrimes(64);
const ROUNDS = Uint32Array.from(PRIMES, (prime) => fraction(Math.cbrt(prime)));
const START = Uint32Array.from(PRIMES.slice(0, 8), (prime) => fraction(Math.sqrt(prime)));

/** The hash of bytes. */
export function sha256(bytes: Uint8Array): Uint8Array {
    const padded = pad(bytes);
    const view = new DataView(padded.buffer);
    const state = START.slice();
    const words = new Uint32Array(64);
    for (let at = 0; at < padded.length; at += 64) {
        for (let index = 0; index < 16; index++) words[index] = view.getUint32(at + index * 4);
        mix(state, words);
    }
    const result = new DataView(new ArrayBuffer(32));
    state.forEach((word, index) => result.setUint32(index * 4, word));
    return new Uint8Array(result.buffer);
}

/** Bytes in base 16. */
export function hex(bytes: Uint8Array): string {
    return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** A bit of 1, bits of 0, and the length in bits, up to a multiple of 64 bytes. */
function pad(bytes: Uint8Array): Uint8Array {
    const padded = new Uint8Array(Math.ceil((bytes.length + 9) / 64) * 64);
    padded.set(bytes);
    padded[bytes.length] = 0x80;
    new DataView(padded.buffer).setBigUint64(padded.length - 8, BigInt(bytes.length) * 8n);
    return padded;
}

function mix(state: Uint32Array, words: Uint32Array): void {
    const of = (array: Uint32Array, index: number) => array[index] as number;
    for (let t = 16; t < 64; t++) {
        const [early, late] = [of(words, t - 15), of(words, t - 2)];
        const low = turn(early, 7) ^ turn(early, 18) ^ (early >>> 3);
        const high = turn(late, 17) ^ turn(late, 19) ^ (late >>> 10);
        words[t] = of(words, t - 16) + low + of(words, t - 7) + high;
    }
    let [a, b, c, d, e, f, g, h] = state as unknown as [number, number, number, number, number, number, number, number];
    for (let t = 0; t < 64; t++) {
        const one = h + (turn(e, 6) ^ turn(e, 11) ^ turn(e, 25)) + ((e & f) ^ (~e & g)) + of(ROUNDS, t) + of(words, t);
        const two = (turn(a, 2) ^ turn(a, 13) ^ turn(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
        [h, g, f, e, d, c, b, a] = [g, f, e, (d + one) | 0, c, b, a, (one + two) | 0];
    }
    [a, b, c, d, e, f, g, h].forEach((word, index) => (state[index] = of(state, index) + word));
}

function turn(word: number, by: number): number {
    return (word >>> by) | (word << (32 - by));
}

/** The first 32 bits behind the point. */
function fraction(root: number): number {
    return ((root - Math.floor(root)) * 2 ** 32) >>> 0;
}

function firstPrimes(count: number): number[] {
    const primes: number[] = [];
    for (let number = 2; primes.length < count; number++) {
        if (primes.every((prime) => number % prime !== 0)) primes.push(number);
    }
    return primes;
}
