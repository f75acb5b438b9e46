export default function Draft() {
    return null;
}
