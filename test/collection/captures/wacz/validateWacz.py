"""Validates a WACZ 1.1.1 package as its specifications say, with Python's standard library alone.

Prints one JSON object: what the package holds, so that a test can compare it. Exits with a sentence if anything is wrong.
"""
import gzip, hashlib, json, re, sys, zipfile, zlib

def require(holds, sentence):
    if not holds:
        sys.exit(sentence)

def member(data, offset, length):
    """Decompresses the gzip member at an offset, which must be exactly as long as stated."""
    stream = zlib.decompressobj(31)
    block = stream.decompress(data[offset:offset + length]) + stream.flush()
    require(stream.eof and stream.unused_data == b'', 'A place in the index is not one gzip member.')
    return block

package = zipfile.ZipFile(sys.argv[1])
require(package.testzip() is None, 'A CRC is wrong.')
names = package.namelist()
require(len(names) == len(set(names)), 'A name is there twice.')
require(all(info.compress_type == zipfile.ZIP_STORED for info in package.infolist()), 'A file is compressed again.')
read = {name: package.read(name) for name in names}

listed = json.loads(read['datapackage.json'])
require(listed['profile'] == 'data-package' and listed['wacz_version'] == '1.1.1', 'The version is wrong.')
require(re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ', listed['created']), 'created is no time.')
paths = [resource['path'] for resource in listed['resources']]
require(sorted(paths + ['datapackage.json', 'datapackage-digest.json']) == sorted(names), 'The list is not complete.')
resource_names = [resource['name'] for resource in listed['resources']]
require(len(set(resource_names)) == len(resource_names), 'Two resources have one name.')
for resource in listed['resources']:
    require(re.fullmatch(r'[-a-z0-9._]+', resource['name']), 'A name is not that of a resource.')
    data = read[resource['path']]
    require(resource['bytes'] == len(data), 'A size is wrong: ' + resource['path'])
    require(resource['hash'] == 'sha256:' + hashlib.sha256(data).hexdigest(), 'A digest is wrong: ' + resource['path'])
digest = json.loads(read['datapackage-digest.json'])
require(digest['path'] == 'datapackage.json', 'The digest is of another file.')
require(digest['hash'] == 'sha256:' + hashlib.sha256(read['datapackage.json']).hexdigest(), 'The digest is wrong.')

# py-wacz looks for a file by the last two parts of its path, if its name has a dot.
for name in names:
    if '.' in name.rsplit('/', 1)[-1] and not name.startswith('datapackage'):
        require('/'.join(name.split('/')[-2:]) in paths, 'py-wacz would not find ' + name)

index = gzip.decompress(read['indexes/index.cdx.gz']).decode()
lines = index.splitlines()
require(lines == sorted(lines, key=lambda line: line.encode()), 'The index is not sorted.')
warc = read['archive/data.warc.gz']
entries = []
for line in lines:
    key, time, block = line.split(' ', 2)
    require(re.fullmatch(r'\d{14}|\d{17}', time), 'A time in the index is wrong.')
    entry = json.loads(block)
    missing = {'url', 'digest', 'mime', 'filename', 'offset', 'length', 'status'} - set(entry)
    require(not missing, 'A line of the index lacks members.')
    require(entry['filename'] == 'data.warc.gz', 'The index names another file.')
    record = member(warc, int(entry['offset']), int(entry['length']))
    stored = warc[int(entry['offset']):int(entry['offset']) + int(entry['length'])]
    require(entry['recordDigest'] == 'sha256:' + hashlib.sha256(stored).hexdigest(), 'A digest of a record is wrong.')
    head, _, rest = record.partition(b'\r\n\r\n')
    fields = dict(line.split(': ', 1) for line in head.decode().split('\r\n')[1:])
    require(fields['WARC-Target-URI'] == entry['url'], 'The index leads to the record of another address.')
    require(fields['WARC-Date'][:19].translate({45: None, 58: None, 84: None}) == time[:14], 'A time is wrong.')
    if 'WARC-Payload-Digest' in fields:
        require(fields['WARC-Payload-Digest'] == entry['digest'], 'A digest in the index is wrong.')
    entries.append({'key': key, 'type': fields['WARC-Type'], **entry})

# Every record of an answer is in the index.
offset = records = 0
while offset < len(warc):
    stream = zlib.decompressobj(31)
    record = stream.decompress(warc[offset:]) + stream.flush()
    length = len(warc) - offset - len(stream.unused_data)
    kind = re.search(rb'\r\nWARC-Type: (\S+)', record).group(1).decode()
    if kind in ('response', 'resource', 'revisit'):
        require(any(int(e['offset']) == offset and int(e['length']) == length for e in entries), 'A record is not in the index.')
    offset += length
    records += 1

blocks = read['indexes/index.idx'].decode().splitlines()
require(json.loads(blocks[0].split(' ', 2)[2])['format'] == 'cdxj-gzip-1.0', 'The blocks have no header.')
joined = ''
for block in blocks[1:]:
    key, time, place = block.split(' ', 2)
    place = json.loads(place)
    data = read['indexes/' + place['filename']]
    require(place['digest'] == 'sha256:' + hashlib.sha256(data[place['offset']:place['offset'] + place['length']]).hexdigest(), 'The digest of a block is wrong.')
    text = member(data, place['offset'], place['length']).decode()
    require(text.startswith(key + ' ' + time + ' '), 'A block begins elsewhere.')
    joined += text
require(joined == index, 'The blocks are not the index.')

header, *pages = [json.loads(line) for line in read['pages/pages.jsonl'].decode().splitlines()]
require(header['format'] == 'json-pages-1.0', 'The pages have no header.')
for page in pages:
    require(page['url'] and re.fullmatch(r'\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z', page['ts']), 'A page is wrong.')

print(json.dumps({'names': names, 'entries': entries, 'pages': pages, 'records': records, 'digest': digest, 'package': listed}))
